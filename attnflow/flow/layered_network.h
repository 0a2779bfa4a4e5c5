// The network of attention flow, and its exact integer form.
//
// Example:
//
//     LayeredNetwork network;                                  // one node above two above one
//     network.layers = {Tensor<double>({2, 1}, {0.50, 0.25}),  // bottom first
//                       Tensor<double>({1, 2}, {0.75, 0.25})};
//     validate_network(network);
//     assert(network.depth() == 2);
//     assert(flow_of_pair(network, 0, 0).flow == 0.75);  // flow/pair_flow.h: 0.5 via one node, 0.25 via the other
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnflow/graph/mixing.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// A network in layers: nodes (k, p), k = depth ... 0, and an arc (k, p) -> (k - 1, q) of capacity layers[k - 1](p, q)
// for every p and q. Layer `depth` is nearest the output. Blocks, [nodes of layer k, nodes of layer k - 1], may be
// rectangular.
struct LayeredNetwork {
  std::vector<Tensor<double>> layers;  // bottom first: layers.back() holds the arcs that leave the output side
  std::size_t depth() const { return layers.size(); }
};

// The greedy pass recurses once per layer, so there is a limit.
inline constexpr std::size_t kMaxFlowLayers = 4096;

// Returns the network between layers l and m < l of an attention graph, whose top layer is graph.top(l). Throws
// Error(kUsage) unless m < l <= L.
LayeredNetwork attention_network(const AttentionGraph& graph, std::size_t l, std::size_t m);

// Throws Error(kUsage) unless the network has a layer, blocks fit together, and capacities are finite and nonnegative.
void validate_network(const LayeredNetwork& network);
// Likewise without checking the capacities.
void validate_shapes(const LayeredNetwork& network);

// Fixed point: a capacity c is represented by floor(c 2^exponent) units. The exponent keeps the sum of a node's
// outgoing arcs below 2^61 units: then no sum of flows overflows std::int64_t, and a sum that saturates at 2^62 is at
// least twice any possible flow. One unit is 2^-60 if the largest row sum is in [1, 2), 2^-61 if it is in [1/2, 1), and
// so on. A maximum flow in units is below the true one by less than one unit per arc of a minimum cut.
struct FixedPoint {
  int exponent = 60;

  // For capacities whose largest row sum is `row_sum`. Throws Error(kUsage) if that is not finite.
  static FixedPoint for_row_sum(double row_sum);
  std::int64_t units(double capacity) const;  // rounded down
  void units(std::span<const double> capacities, std::int64_t* to) const;
  double value_below(std::int64_t units) const;  // the largest double <= units / 2^exponent
  double value_above(std::int64_t units) const;  // the smallest double >= units / 2^exponent
};

// Sums of units saturate here, above any possible flow.
inline constexpr std::int64_t kManyUnits = std::int64_t{1} << 62;
inline std::int64_t add_units(std::int64_t a, std::int64_t b) {
  return a >= kManyUnits - b ? kManyUnits : a + b;  // both in [0, kManyUnits]
}

// Returns the largest sum of capacities that leave one node of layer `k`. Throws Error(kUsage) unless they are finite
// and nonnegative.
double largest_row_sum(const Tensor<double>& block, std::size_t k);
double largest_row_sum(const LayeredNetwork& network);

struct IntegerNetwork {
  FixedPoint fixed_point;
  std::vector<Tensor<std::int64_t>> layers;  // as LayeredNetwork::layers
  std::size_t depth() const { return layers.size(); }
};
Tensor<std::int64_t> to_units(const Tensor<double>& block, FixedPoint fixed_point);
IntegerNetwork to_units(const LayeredNetwork& network, FixedPoint fixed_point);

}  // namespace attnflow
