// Columns of causal layers, for consecutive input tokens.
//
// Flow to the input token at position j (flow/row_flow.h) needs all arcs into that position, in many layers, and all
// straight arcs. Layers are stored row by row, so in a long prompt each of these arcs is in a different cache line: 2 n
// lines from memory per layer and input token. So straight arcs are stored separately, and columns are copied for
// several neighbors at a time, which share those lines.
//
// Memory: 9 n units per layer. Complexity: O(n) per layer and input token, if these come in order of position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "attnflow/flow/arc_block.h"

namespace attnflow::internal {

class NeighborColumns {
 public:
  // below[k - 1] holds the arcs from layer k to layer k - 1, causal with as many nodes above as below. They must
  // outlive this object; the lowest is not read.
  explicit NeighborColumns(const std::vector<const ArcBlock*>& below) : below_(below), layers_(below.size()) {}

  // By position: the arcs of layer k >= 2 into the node at position `to`. Those from earlier positions are not set.
  // Valid until the next call for the layer.
  const std::int64_t* into(std::size_t k, std::size_t to);
  // By position: the arcs of layer k >= 2 to the node at the same position.
  const std::int64_t* straight(std::size_t k);

 private:
  static constexpr std::size_t kNeighbors = 8;  // one cache line
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Layer {
    std::size_t first = kNone;           // cached: the columns of positions first ... first + kNeighbors - 1
    std::vector<std::int64_t> columns;   // [kNeighbors, nodes]
    std::vector<std::int64_t> straight;  // [nodes]
  };

  const std::vector<const ArcBlock*>& below_;
  std::vector<Layer> layers_;
};

}  // namespace attnflow::internal
