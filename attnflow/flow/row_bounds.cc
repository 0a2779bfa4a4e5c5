#include "attnflow/flow/row_bounds.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "attnflow/flow/blocking_flow.h"
#include "attnflow/flow/flow_bounds.h"
#include "attnflow/flow/layered_network.h"

namespace attnflow::internal {
namespace {

std::vector<std::int64_t> sums_from_the_right(std::span<const std::int64_t> row) {
  std::vector<std::int64_t> sums(row.size());
  std::int64_t sum = 0;
  for (std::size_t p = row.size(); p-- > 0;) sums[p] = sum = add_units(sum, row[p]);
  return sums;
}

}  // namespace

RowBounds::RowBounds(std::vector<std::int64_t> top, std::size_t own)
    : top_(std::move(top)), own_(own), value_(top_.size()), words_(bit_words(top_.size())) {
  // The top arcs themselves each lead to one node.
  reach_.assign(top_.size() * words_, 0);
  for (std::size_t p = 0; p < top_.size(); ++p) {
    value_[p] = {.low = top_[p], .high = top_[p], .column_cut = top_[p], .row_cut = top_[p]};
    if (top_[p] > 0) set_bit(reach_.data() + p * words_, p);
  }
  if (own_ >= top_.size()) return;
  sent_ = chain_cut_ = sums_from_the_right(top_);
  for (std::size_t p = 0; p <= own_; ++p) sent_[p] -= top_[own_];
}

void RowBounds::descend(const ArcBlock& arcs) {
  const std::size_t below = arcs.below();
  find_arcs(arcs);
  find_reach(below);
  std::vector<std::uint32_t> by_low;
  for (std::size_t p = 0; p < value_.size(); ++p) {
    if (value_[p].high > 0) by_low.push_back(static_cast<std::uint32_t>(p));
  }
  std::sort(by_low.begin(), by_low.end(), [this](std::uint32_t a, std::uint32_t b) {
    return value_[a].low != value_[b].low ? value_[a].low > value_[b].low : a < b;
  });
  std::vector<std::int64_t> minima(below, 0);
  std::vector<std::int64_t> column(below, 0);
  std::vector<std::int64_t> threshold(below, kManyUnits);
  for (const std::uint32_t p : by_low) {
    const auto row = arcs.row(p);
    add_source({.arcs = row.data(), .count = row.size(), .low = value_[p].low, .high = value_[p].high}, minima.data(),
               column.data(), threshold.data());
  }
  const std::vector<std::int64_t> chain = chain_cuts(arcs);
  lengthen_chain(arcs);
  value_.assign(below, {});
  const bool exact = descended_++ == 0;
  for (std::size_t q = 0; q < below; ++q) {
    SinkValue& value = value_[q];
    value.column_cut = column[q];
    value.row_cut = row_cut_[q];
    value.high = std::min({minima[q], value.row_cut, chain[q]});
    value.low = exact ? value.high : std::min(value.high, std::min(threshold[q], column[q]));
  }
}

std::vector<std::int64_t> RowBounds::chain_cuts(const ArcBlock& arcs) const {
  const std::size_t below = arcs.below();
  std::vector<std::int64_t> cuts(below, kManyUnits);
  if (chain_cut_.empty()) return cuts;
  for (std::size_t q = 0; q < below; ++q) {
    if (first_above_[q] == arcs.above()) continue;
    const std::size_t first = causal_above_ ? first_above_[q] : 0;
    cuts[q] = std::min(chain_cut_[first], add_units(sent_[first], arcs(own_, q)));
  }
  return cuts;
}

void RowBounds::lengthen_chain(const ArcBlock& arcs) {
  const std::size_t nodes = arcs.below();
  if (chain_cut_.empty()) return;
  if (arcs.above() != nodes) {  // from here on, positions are different
    chain_cut_.clear();
    return;
  }
  std::vector<std::int64_t> all = sums_from_the_right(arcs.row(own_));
  all.resize(nodes, 0);
  const std::int64_t straight = arcs(own_, own_);
  for (std::size_t p = 0; p < nodes; ++p) {
    chain_cut_[p] = std::min(chain_cut_[p], add_units(sent_[p], all[p]));
    sent_[p] = add_units(sent_[p], all[p] - (p <= own_ ? straight : 0));
  }
}

void RowBounds::find_arcs(const ArcBlock& arcs) {
  const std::size_t nodes = arcs.above();
  const std::size_t below = arcs.below();
  const std::size_t words = bit_words(below);
  std::vector<std::uint64_t> open(nodes * words, 0);
  for (std::size_t p = 0; p < nodes; ++p) {
    const auto row = arcs.row(p);
    for (std::size_t w = 0; w < bit_words(row.size()); ++w) {
      std::uint64_t word = 0;
      for (std::size_t q = w * 64; q < std::min(row.size(), w * 64 + 64); ++q) {
        word |= std::uint64_t{row[q] > 0} << (q % 64);
      }
      open[p * words + w] = word;
    }
  }
  causal_above_ = causal_;
  // Most layers have the same arcs.
  same_arcs_ = open == open_arcs_ && first_above_.size() == below;
  if (same_arcs_) return;
  open_arcs_ = std::move(open);
  first_above_.assign(below, static_cast<std::uint32_t>(nodes));
  std::vector<std::uint64_t> met(words, 0);
  for (std::size_t p = 0; p < nodes; ++p) {
    for (std::size_t w = 0; w < words; ++w) {
      std::uint64_t fresh = open_arcs_[p * words + w] & ~met[w];
      met[w] |= fresh;
      for (; fresh != 0; fresh &= fresh - 1) {
        const std::size_t q = w * 64 + static_cast<std::size_t>(std::countr_zero(fresh));
        first_above_[q] = static_cast<std::uint32_t>(p);
        causal_ = causal_ && q <= p;
      }
    }
  }
}

// Once a layer has changed nothing, the next one with the same arcs will change nothing either.
void RowBounds::find_reach(std::size_t below) {
  if (same_arcs_ && reach_settled_) return;
  const std::size_t arc_words = bit_words(below);
  const std::size_t nodes = open_arcs_.size() / arc_words;
  std::vector<std::uint64_t> reach(below * words_, 0);
  for (std::size_t p = 0; p < nodes; ++p) {
    const std::uint64_t* from = reach_.data() + p * words_;
    for_each_bit({open_arcs_.data() + p * arc_words, arc_words}, [&](std::size_t q) {
      std::uint64_t* to = reach.data() + q * words_;
      for (std::size_t v = 0; v < words_; ++v) to[v] |= from[v];
    });
  }
  reach_settled_ = reach == reach_;
  reach_ = std::move(reach);
  row_cut_.assign(below, 0);
  for (std::size_t q = 0; q < below; ++q) {
    for_each_bit({reach_.data() + q * words_, words_},
                 [&](std::size_t p) { row_cut_[q] = add_units(row_cut_[q], top_[p]); });
  }
}

}  // namespace attnflow::internal
