#include "attnflow/model/torch/blocked_ops.h"

#include <algorithm>

namespace attnflow::internal {

namespace {

constexpr std::int64_t kBlockRows = 128;
constexpr std::int64_t kFewestColumns = 256;

at::Tensor as_matrix(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

at::Tensor in_the_shape_of(const at::Tensor& x, const at::Tensor& result) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = result.size(1);
  return result.view(shape);
}

}  // namespace

std::vector<BlockedOps::Block> BlockedOps::cut(const at::Tensor& x, const std::vector<std::int64_t>& outs) const {
  const Blocks rows(x.size(0), one_piece_ ? x.size(0) : kBlockRows);
  const std::int64_t each = std::max<std::int64_t>(1, rows.size(0) * x.size(1));  // multiply-adds of one column
  const std::int64_t columns_worth = (as_vector(x) ? kWorthOfVector : kWorthOfProduct) / each;
  std::vector<Block> blocks;
  for (std::size_t map = 0; map < outs.size(); ++map) {
    const Blocks columns(outs[map], one_piece_ ? outs[map] : std::max(kFewestColumns, columns_worth));
    for (std::int64_t row = 0; row < rows.count(); ++row) {
      for (std::int64_t column = 0; column < columns.count(); ++column) {
        blocks.push_back({map, rows.begin(row), rows.size(row), columns.begin(column), columns.size(column)});
      }
    }
  }
  return blocks;
}

std::size_t BlockedOps::useful_threads_for(const at::Tensor& x, std::int64_t outs) const {
  return useful_threads(threads_, x.numel() * outs, as_vector(x) ? kWorthOfVector : kWorthOfProduct);
}

void BlockedOps::multiply(const Block& block, const Linear& map, const at::Tensor& x, at::Tensor result,
                          bool as_vector) {
  const at::Tensor weight = block.of_weight(map.weight);
  const at::Tensor part = block.of_input(x);
  if (as_vector) {
    at::Tensor row = result.select(0, 0);
    if (map.bias.defined()) {
      at::addmv_out(row, block.of_weight(map.bias), weight, part.select(0, 0));
    } else {
      at::mv_out(row, weight, part.select(0, 0));
    }
  } else if (map.bias.defined()) {
    at::addmm_out(result, block.of_weight(map.bias), part, weight.t());
  } else {
    at::mm_out(result, part, weight.t());
  }
}

std::vector<at::Tensor> BlockedOps::linear(const std::vector<const Linear*>& maps, const at::Tensor& x) const {
  if (std::any_of(maps.begin(), maps.end(), [](const Linear* map) { return map->rows.defined(); })) {
    std::vector<at::Tensor> results;
    for (const Linear* map : maps) {
      const Linear whole = map->whole();
      results.push_back(linear(std::vector<const Linear*>{&whole}, x).front());
    }
    return results;
  }
  const at::Tensor input = as_matrix(x);
  std::vector<std::int64_t> outs;
  std::vector<at::Tensor> results;
  std::int64_t all = 0;
  for (const Linear* map : maps) {
    outs.push_back(map->weight.size(0));
    all += outs.back();
    results.push_back(at::empty({input.size(0), outs.back()}, x.options()));
  }
  const std::vector<Block> blocks = cut(input, outs);
  split_work(useful_threads_for(input, all), to_signed(blocks.size()), [&](std::int64_t i) {
    const Block& block = blocks[static_cast<std::size_t>(i)];
    multiply(block, *maps[block.map], input, block.of_result(results[block.map]), as_vector(input));
  });
  for (at::Tensor& result : results) result = in_the_shape_of(x, result);
  return results;
}

at::Tensor BlockedOps::activated(const Linear& in, const at::Tensor& x, Activation activation, const Linear& gate,
                                 double limit) const {
  if (in.rows.defined() || gate.rows.defined()) return activated(in.whole(), x, activation, gate.whole(), limit);
  const at::Tensor input = as_matrix(x);
  const bool gated = gate.defined();
  const std::int64_t out = in.weight.size(0);
  const at::Tensor result = at::empty({input.size(0), out}, x.options());
  const std::vector<Block> blocks = cut(input, {out});
  split_work(useful_threads_for(input, gated ? 2 * out : out), to_signed(blocks.size()), [&](std::int64_t i) {
    const Block& block = blocks[static_cast<std::size_t>(i)];
    // Activations are faster on numbers without gaps between rows.
    const at::Tensor inside = at::empty({block.rows, block.columns}, x.options());
    at::Tensor part = block.of_result(result);
    multiply(block, gated ? gate : in, input, inside, as_vector(input));
    if (!gated) {
      part.copy_(activate(inside, activation));
      return;
    }
    multiply(block, in, input, part, as_vector(input));
    if (limit > 0.0) {
      inside.clamp_max_(limit);
      part.clamp_(-limit, limit).add_(1.0);
    }
    part.mul_(activate(inside, activation));
  });
  return in_the_shape_of(x, result);
}

}  // namespace attnflow::internal
