// The network of one output token of a causal stack, given row by row: for prompts whose matrices take too much memory.
//
// A causal layer has n (n + 1) / 2 arcs, kept in units of 2^-60 (flow/flow.h): 4 n^2 bytes a layer, where
// AttentionGraph takes 8 n^2 and its flow as much again. Rows may sum to less than 2: those of attention with its
// residual sum to 1. Values are those that the graph of the same numbers gives, but for units of half the size where no
// row of the graph sums to 1.
//
// Example:
//
//     CausalNetwork network(2, 2);  // layers, tokens
//     for (std::size_t layer = 1; layer <= 2; ++layer) {
//       network.set_row(layer, 0, std::vector<double>{1.0});
//       network.set_row(layer, 1, std::vector<double>{0.25, 0.75});
//     }
//     const FlowResult result = attention_flow(network, {.layers = {2}, .output_token = 1});
//     assert(result.flow(0, 0, 0) == 0.5);  // 0.25 by each of the two nodes
#ifndef ATTNFLOW_FLOW_CAUSAL_NETWORK_H_
#define ATTNFLOW_FLOW_CAUSAL_NETWORK_H_

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

  // Row p of A_layer, the layer from 1: p + 1 capacities. Rows that are not given have none. Different rows may be set
  // by different threads once each layer has one. Throws Error(kUsage) unless they are finite, not negative, and sum to
  // less than 2.
  void set_row(std::size_t layer, std::size_t p, std::span<const double> capacities);
  // The output token's row where `layer` is the one wanted, if that differs from its row below others.
  void set_top(std::size_t layer, std::vector<double> capacities);

 private:
  friend FlowResult attention_flow(const CausalNetwork& network, const FlowOptions& options);
  struct Arcs;  // of one layer

  std::size_t tokens_;
  std::vector<Arcs> arcs_;
  std::vector<std::vector<double>> tops_;
};

// Flow from options.output_token, which must be given. Errors as of a graph.
FlowResult attention_flow(const CausalNetwork& network, const FlowOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_FLOW_CAUSAL_NETWORK_H_
