#include "attnflow/flow/neighbor_columns.h"

#include <algorithm>
#include <span>

namespace attnflow::internal {

const std::int64_t* NeighborColumns::into(std::size_t k, std::size_t to) {
  const ArcBlock& arcs = *below_[k - 1];
  Layer& layer = layers_[k - 1];
  const std::size_t nodes = arcs.above();
  if (to < layer.first || to - layer.first >= kNeighbors) {
    layer.first = to;
    layer.columns.resize(kNeighbors * nodes);
    for (std::size_t p = to; p < nodes; ++p) {
      const std::span<const std::int64_t> row = arcs.row(p);
      const std::size_t count = std::min(kNeighbors, p + 1 - to);
      for (std::size_t c = 0; c < count; ++c) layer.columns[c * nodes + p] = row[to + c];
    }
  }
  return layer.columns.data() + (to - layer.first) * nodes;
}

const std::int64_t* NeighborColumns::straight(std::size_t k) {
  const ArcBlock& arcs = *below_[k - 1];
  std::vector<std::int64_t>& straight = layers_[k - 1].straight;
  if (straight.empty()) {
    straight.resize(arcs.above());
    for (std::size_t p = 0; p < straight.size(); ++p) straight[p] = arcs(p, p);
  }
  return straight.data();
}

}  // namespace attnflow::internal
