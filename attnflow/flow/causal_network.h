// The network of one output token of a causal stack, row by row: for prompts whose matrices take too much memory.
//
// A causal layer's n (n + 1) / 2 arcs are stored in units of 2^-60 (flow/flow.h): 4 n^2 bytes per layer, whereas
// AttentionGraph takes 8 n^2 and its flow as much again. Rows may sum to less than 2; rows of attention with its
// residual sum to 1. Values equal those for a graph of the same numbers, except when every row sums to less than 1 (the
// graph's units are then smaller than 2^-60), and one layer down, where a graph's values are the capacities themselves;
// here they are rounded down to units unless set_top() provided the row.
//
// Example:
//
//     CausalNetwork network(2, 2);  // layers, tokens
//     for (std::size_t layer = 1; layer <= 2; ++layer) {
//       network.set_row(layer, 0, std::vector<double>{1.0});
//       network.set_row(layer, 1, std::vector<double>{0.25, 0.75});
//     }
//     const FlowResult result = attention_flow(network, {.layers = {2}, .output_token = 1});
//     assert(result.flow(0, 0, 0) == 0.5);  // 0.25 through each of the two nodes
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnflow/flow/flow.h"

namespace attnflow {

class CausalNetwork {
 public:
  CausalNetwork(std::size_t layers, std::size_t tokens);
  ~CausalNetwork();
  CausalNetwork(CausalNetwork&&) noexcept;
  CausalNetwork& operator=(CausalNetwork&&) noexcept;

  std::size_t layers() const { return tops_.size(); }
  std::size_t tokens() const { return tokens_; }

  // Sets row p of A_layer (layers count from 1): p + 1 capacities. Rows that are never set have no arcs. The first row
  // of a layer allocates it; after that, threads may set different rows. Throws Error(kUsage) for a layer or position
  // that does not exist, another number of capacities, and unless they are finite, nonnegative, and sum to less than 2.
  void set_row(std::size_t layer, std::size_t p, std::span<const double> capacities);
  // Sets the output token's row when `layer` is the requested layer, if it differs from that of set_row(), as with a
  // single head (graph/mixing.h). At most tokens() capacities. Throws as set_row() does.
  void set_top(std::size_t layer, std::vector<double> capacities);

 private:
  friend FlowResult attention_flow(const CausalNetwork& network, const FlowOptions& options);
  struct Arcs;  // of one layer

  std::size_t tokens_;
  std::vector<Arcs> arcs_;
  std::vector<std::vector<double>> tops_;
};

// Computes the flow from options.output_token, which must be set. Throws as for a graph.
FlowResult attention_flow(const CausalNetwork& network, const FlowOptions& options);

}  // namespace attnflow
