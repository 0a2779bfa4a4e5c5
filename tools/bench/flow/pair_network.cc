#include "tools/bench/flow/pair_network.h"

#include <utility>
#include <vector>

namespace attnflow_bench {
namespace {

using Marks = std::vector<std::vector<char>>;  // [layer][position]: 1 for the nodes to keep

// Nodes reachable from (layer, output_token) from which (0, input_token) is reachable.
Marks nodes_on_paths(const attnflow::Tensor<double>& capacities, std::size_t layer, std::size_t output_token,
                     std::size_t input_token) {
  const std::size_t n = capacities.extent(1);
  Marks kept(layer + 1, std::vector<char>(n, 0));
  kept[layer][output_token] = 1;
  for (std::size_t k = layer; k >= 1; --k) {
    for (std::size_t p = 0; p < n; ++p) {
      if (kept[k][p] == 0) continue;
      for (std::size_t q = 0; q < n; ++q) {
        if (capacities(k - 1, p, q) > 0.0) kept[k - 1][q] = 1;
      }
    }
  }
  for (std::size_t q = 0; q < n; ++q) {
    if (q != input_token) kept[0][q] = 0;
  }
  for (std::size_t k = 1; k <= layer; ++k) {
    for (std::size_t p = 0; p < n; ++p) {
      if (kept[k][p] == 0) continue;
      kept[k][p] = 0;
      for (std::size_t q = 0; q < n && kept[k][p] == 0; ++q) {
        if (kept[k - 1][q] != 0 && capacities(k - 1, p, q) > 0.0) kept[k][p] = 1;
      }
    }
  }
  return kept;
}

}  // namespace

PairNetwork pair_network(const attnflow::Tensor<double>& capacities, std::size_t layer, std::size_t output_token,
                         std::size_t input_token, NetworkParts parts) {
  const std::size_t n = capacities.extent(1);
  const Marks kept = parts == NetworkParts::kPaths ? nodes_on_paths(capacities, layer, output_token, input_token)
                                                   : Marks(layer + 1, std::vector<char>(n, 1));
  // The source comes first, the sink last, the others from the top layer down.
  std::vector<std::pair<std::size_t, std::size_t>> order = {{layer, output_token}};
  for (std::size_t k = layer + 1; k-- > 0;) {
    for (std::size_t p = 0; p < n; ++p) {
      const bool end = (k == layer && p == output_token) || (k == 0 && p == input_token);
      if (kept[k][p] != 0 && !end) order.emplace_back(k, p);
    }
  }
  order.emplace_back(0, input_token);
  std::vector<std::vector<std::size_t>> number(layer + 1, std::vector<std::size_t>(n, 0));
  for (std::size_t v = 0; v < order.size(); ++v) number[order[v].first][order[v].second] = v;

  PairNetwork network;
  network.nodes = order.size();
  for (std::size_t v = 0; v < order.size(); ++v) {
    const auto [k, p] = order[v];
    if (k == 0) continue;
    for (std::size_t q = 0; q < n; ++q) {
      const double capacity = capacities(k - 1, p, q);
      if (kept[k - 1][q] != 0 && capacity > 0.0) network.arcs.push_back({v, number[k - 1][q], capacity});
    }
  }
  return network;
}

}  // namespace attnflow_bench
