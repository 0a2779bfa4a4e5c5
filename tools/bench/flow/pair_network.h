// The network of one pair, cut out of the layers of an attention graph.
#pragma once

#include <cstddef>

#include "attnflow/tensor/tensor.h"
#include "tools/bench/flow/peer.h"

namespace attnflow_bench {

enum class NetworkParts {
  kPaths,  // the arcs on a path from the source to the sink: solvers need not find the useless ones
  kWhole,  // every arc of layers 1 to l: one network for all pairs of a layer, as in the definition
};

// The network whose maximum flow from node (layer, output_token) to node (0, input_token) is wanted, without arcs of
// capacity 0. `capacities` is [layer, from, to], bottom first. The two nodes must be joined by a path.
PairNetwork pair_network(const attnflow::Tensor<double>& capacities, std::size_t layer, std::size_t output_token,
                         std::size_t input_token, NetworkParts parts);

}  // namespace attnflow_bench
