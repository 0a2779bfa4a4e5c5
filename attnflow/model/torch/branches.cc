#include "attnflow/model/torch/branches.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "attnflow/model/torch/decoder_attention.h"
#include "attnflow/model/torch/split_work.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kMostRows = 2048;  // of a pass, beside the trunk's

// Keys or values [T, G, d] of all rows as those that branches see: [count G, leave + tokens, d].
at::Tensor seen_by(const Branches& branches, const at::Tensor& all) {
  const std::int64_t count = to_signed(branches.count);
  const std::int64_t leave = to_signed(branches.leave);
  const std::int64_t tokens = to_signed(branches.tokens);
  const std::int64_t groups = all.size(1);
  const std::int64_t width = all.size(2);
  const at::Tensor own =
      all.narrow(0, to_signed(branches.row), count * tokens).view({count, tokens, groups, width}).transpose(1, 2);
  const at::Tensor trunk = all.narrow(0, 0, leave).transpose(0, 1).unsqueeze(0).expand({count, groups, leave, width});
  return at::cat({trunk, own}, 2).view({count * groups, leave + tokens, width});
}

// query [T, H, d]; returns [count tokens, H d].
at::Tensor attend_in(const Branches& branches, const LayerForm& form, const at::Tensor& query, const at::Tensor& key,
                     const at::Tensor& value) {
  const std::int64_t count = to_signed(branches.count);
  const std::int64_t tokens = to_signed(branches.tokens);
  const std::int64_t heads = query.size(1);
  const std::int64_t groups = key.size(1);
  const std::int64_t width = query.size(2);
  const std::int64_t keys = to_signed(branches.leave) + tokens;
  // Heads that share keys are adjacent: [count G, H / G tokens, d].
  const at::Tensor queries = query.narrow(0, to_signed(branches.row), count * tokens)
                                 .view({count, tokens, heads, width})
                                 .transpose(1, 2)
                                 .reshape({count * groups, heads / groups * tokens, width});
  at::Tensor scores = at::bmm(queries, seen_by(branches, key).transpose(1, 2)).view({count, heads, tokens, keys});
  if (form.score_cap > 0.0) scores.div_(form.score_cap).tanh_().mul_(form.score_cap);
  if (form.slopes.defined()) scores.add_(form.slopes(at::arange(keys, scores.options()), 0, heads));
  apply_causal_mask(scores, 0, to_signed(branches.leave), form.window);
  const at::Tensor sinks = form.sinks.defined() ? form.sinks.view({heads, 1, 1}) : form.sinks;
  const at::Tensor weights = softmax_beside(scores, sinks);
  const at::Tensor mixed =
      at::bmm(weights.view({count * groups, heads / groups * tokens, keys}), seen_by(branches, value));
  return mixed.view({count, heads, tokens, width}).transpose(1, 2).reshape({count * tokens, heads * width});
}

}  // namespace

BranchedTexts::BranchedTexts(std::vector<std::int64_t> trunk, std::size_t last)
    : trunk_(trunk.size()), longest_(trunk.size()), branches_{{.tokens = trunk.size()}}, ids_(std::move(trunk)) {
  positions_.resize(trunk_);
  std::iota(positions_.begin(), positions_.end(), std::int64_t{0});
  wanted_ = {to_signed(last)};
}

bool BranchedTexts::add(std::span<const std::int64_t> text, std::size_t last) {
  const auto trunk = std::span(ids_).first(trunk_);
  const auto differ = std::mismatch(text.begin(), text.end(), trunk.begin(), trunk.end()).first;
  const auto leave = static_cast<std::size_t>(differ - text.begin());
  const std::size_t tokens = text.size() - leave;
  const std::size_t row = ids_.size();
  if (branches_.size() > 1 && row + tokens > trunk_ + kMostRows) return false;
  wanted_.push_back(to_signed(last < leave ? last : row + last - leave));
  if (tokens == 0) return true;
  if (branches_.size() > 1 && branches_.back().leave == leave && branches_.back().tokens == tokens) {
    ++branches_.back().count;
  } else {
    branches_.push_back({.leave = leave, .tokens = tokens, .row = row});
  }
  ids_.insert(ids_.end(), differ, text.end());
  for (std::size_t t = leave; t < text.size(); ++t) positions_.push_back(to_signed(t));
  longest_ = std::max(longest_, text.size());
  return true;
}

at::Tensor BranchOps::attend(const LayerForm& form, std::size_t /*index*/, const at::Tensor& query,
                             const at::Tensor& key, const at::Tensor& value) const {
  const at::Tensor context = at::empty({query.size(1), query.size(2) * query.size(3)}, query.options());
  std::int64_t pairs = 0;  // of a row and a key
  for (const Branches& some : branches_) pairs += to_signed((some.end() - some.row) * (some.leave + some.tokens));
  const std::int64_t work = 2 * query.size(2) * query.size(3) * pairs;
  const std::size_t useful = one_piece() ? 1 : useful_threads(threads(), work, kWorthOfAttention);
  split_work(useful, to_signed(branches_.size()), [&](std::int64_t b) {
    const Branches& some = branches_[static_cast<std::size_t>(b)];
    context.narrow(0, to_signed(some.row), to_signed(some.end() - some.row))
        .copy_(attend_in(some, form, query[0], key[0], value[0]));
  });
  return context.unsqueeze(0);
}

}  // namespace attnflow::internal
