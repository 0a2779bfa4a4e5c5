// The arcs between two layers, in units, row by row; in a causal layer, only those to the same or earlier positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnflow/base/large_pages.h"

namespace attnflow::internal {

class ArcBlock {
 public:
  ArcBlock() = default;
  ArcBlock(std::size_t above, std::size_t below)
      : above_(above), below_(below), units_(zeros_in_large_pages<std::int64_t>(above * below)) {}
  static ArcBlock causal(std::size_t nodes) {
    ArcBlock block;
    block.above_ = block.below_ = nodes;
    block.causal_ = true;
    block.units_ = zeros_in_large_pages<std::int64_t>(nodes * (nodes + 1) / 2);
    return block;
  }

  std::size_t above() const { return above_; }
  std::size_t below() const { return below_; }
  bool empty() const { return units_.empty(); }

  // The arcs from node p above to nodes 0, 1, ... below, as far as they are stored.
  std::span<const std::int64_t> row(std::size_t p) const { return {units_.data() + begin(p), length(p)}; }
  std::span<std::int64_t> row(std::size_t p) { return {units_.data() + begin(p), length(p)}; }
  std::int64_t operator()(std::size_t p, std::size_t q) const { return q < length(p) ? units_[begin(p) + q] : 0; }

 private:
  std::size_t begin(std::size_t p) const { return causal_ ? p * (p + 1) / 2 : p * below_; }
  std::size_t length(std::size_t p) const { return causal_ ? p + 1 : below_; }

  std::size_t above_ = 0, below_ = 0;
  bool causal_ = false;
  std::vector<std::int64_t> units_;
};

}  // namespace attnflow::internal
