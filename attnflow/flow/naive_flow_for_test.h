// The truth that flow is tested against: maximum flow by augmenting paths (Ford and Fulkerson, 1956, shortest first) on
// exact 128-bit multiples of 2^-100, with no bound, no phase and no layering.
#ifndef ATTNFLOW_FLOW_NAIVE_FLOW_FOR_TEST_H_
#define ATTNFLOW_FLOW_NAIVE_FLOW_FOR_TEST_H_

#include <algorithm>
#include <cmath>
#include <queue>
#include <vector>

#include "attnflow/flow/layered_network.h"

namespace attnflow {

__extension__ using WideUnits = __int128;

// A double in [0, 2^20) as a multiple of 2^-100: exact for values that are multiples of 2^-100, that is for every
// double above 2^-47; smaller ones lose less than 2^-100.
inline WideUnits wide_units(double value) {
  int exponent = 0;
  const auto mantissa = static_cast<long long>(std::ldexp(std::frexp(value, &exponent), 53));
  const int shift = exponent - 53 + 100;
  if (shift >= 0) return static_cast<WideUnits>(mantissa) << shift;
  return shift > -64 ? static_cast<WideUnits>(mantissa) >> -shift : 0;
}

// The value in units of 2^-100.
inline WideUnits naive_max_flow(const LayeredNetwork& network, std::size_t output_token, std::size_t input_token) {
  std::vector<std::size_t> first{0};
  first.push_back(network.layers[0].extent(1));
  for (const auto& block : network.layers) first.push_back(first.back() + block.extent(0));
  const std::size_t nodes = first.back();
  std::vector<std::vector<WideUnits>> residual(nodes, std::vector<WideUnits>(nodes, 0));
  for (std::size_t k = 1; k <= network.depth(); ++k) {
    const auto& block = network.layers[k - 1];
    for (std::size_t p = 0; p < block.extent(0); ++p) {
      for (std::size_t q = 0; q < block.extent(1); ++q) {
        residual[first[k] + p][first[k - 1] + q] = wide_units(block(p, q));
      }
    }
  }
  const std::size_t source = first[network.depth()] + output_token;
  const std::size_t sink = first[0] + input_token;
  WideUnits total = 0;
  while (true) {
    std::vector<std::size_t> parent(nodes, nodes);
    parent[source] = source;
    std::queue<std::size_t> queue;
    queue.push(source);
    while (!queue.empty() && parent[sink] == nodes) {
      const std::size_t u = queue.front();
      queue.pop();
      for (std::size_t v = 0; v < nodes; ++v) {
        if (parent[v] == nodes && residual[u][v] > 0) {
          parent[v] = u;
          queue.push(v);
        }
      }
    }
    if (parent[sink] == nodes) return total;
    WideUnits push = static_cast<WideUnits>(1) << 125;
    for (std::size_t v = sink; v != source; v = parent[v]) push = std::min(push, residual[parent[v]][v]);
    for (std::size_t v = sink; v != source; v = parent[v]) {
      residual[parent[v]][v] -= push;
      residual[v][parent[v]] += push;
    }
    total += push;
  }
}

}  // namespace attnflow

#endif  // ATTNFLOW_FLOW_NAIVE_FLOW_FOR_TEST_H_
