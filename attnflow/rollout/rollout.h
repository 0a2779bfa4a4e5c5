// Attention rollout: the share of each input token in each output token, with attention weights as proportions.
//
// Problem. Given the mixing matrices A_1 ... A_L of a Transformer (graph/mixing.h), how much of position i after layer
// l comes from position j after layer m < l (m = 0: the input tokens)?
//
// Definition (Abnar & Zuidema, ACL 2020, equation 1). Token identity flows along edges of the attention graph in
// proportion to their weights: a path's share is the product of its weights. Summed over all paths:
//
//     R[l, m] = A_l A_(l-1) ... A_(m+1).
//
// The layer nearer the output is on the left. (The paper's j is m + 1 in its base case.) R[l, m][i, j] >= 0, and rows
// of R sum to 1 if those of every A do. R[l, l-1] = A_l.
//
// Method. All pairs of all layers: one product per layer from the bottom up, R[l] = A_l R[l-1], O(L n^3) time. One
// output token: a vector from the top down, r <- r A_k, O(L n^2). RolloutSink keeps only the running product.
//
// Over relevance, whose weights are amounts (ResidualRule::kContainedNormalized), a position passes on no more than it
// carries (rollout/capacity_rollout.h); R is then no product of matrices.
//
// Gradient-adjusted attention as published (graph/gradient_mixing.h) has row sums above 1, so values are not shares.
// With a single head, the left factor is that head's matrix and the others are the mean over heads.
//
// float64, row-major [output_token, input_token]. Same bits for any thread count on one machine (matrix_product.h).
//
// References:
//   S. Abnar and W. Zuidema, Quantifying Attention Flow in Transformers, ACL 2020:
//     https://aclanthology.org/2020.acl-main.385
//
// Example:
//
//     const AttentionGraph graph = attention_graph(stack);       // graph/mixing.h
//     const Tensor<double> all = rollout(graph);                 // [layer, output_token, input_token]
//     const std::vector<double> row = rollout_row(graph, 0, 6);  // token 0 after layer 6, without all others
//     assert(std::abs(row[3] - all(5, 0, 3)) < 1e-12);
//
//     RolloutSink sink(MixingOptions{});  // while a model runs, without keeping its attention
//     stack.send_to(sink);
//     assert(std::abs(sink.result()(0, 3) - row[3]) < 1e-12);
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "attnflow/graph/mixing.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

struct RolloutOptions {
  std::vector<std::size_t> layers =
      {};                       // the requested l, in (start_layer, L]; results are in increasing order; empty: all
  std::size_t start_layer = 0;  // m
  std::size_t threads = 0;      // 0: one per hardware thread
};

// All pairs: [requested layers, output_token, input_token]. O(L n^3) time, O(n^2) memory plus the result. Throws
// Error(kUsage) for layers out of range.
Tensor<double> rollout(const AttentionGraph& graph, const RolloutOptions& options = {});

// Returns one output token's row after layer l, down to layer m: [input_token]. O((l - m) n^2). Equal to rollout()'s up
// to rounding: factors are multiplied from the other end. Throws Error(kUsage) unless m < l <= L and output_token < n.
std::vector<double> rollout_row(const AttentionGraph& graph, std::size_t output_token, std::size_t layer,
                                std::size_t start_layer = 0);

// Rollout of all pairs while a model runs: O(n^2) memory, one product per layer. Needs whole layers, and no single head
// (which would need a layer's matrix twice).
class RolloutSink : public AttentionSink {
 public:
  // `done` receives R[l, 0], [output_token, input_token], after each layer, valid during the call. It may be empty.
  using LayerFunction = std::function<void(std::size_t layer, TensorView<const double> rollout)>;
  // Throws Error(kUsage) for a single head.
  explicit RolloutSink(MixingOptions options, LayerFunction done = {}, std::size_t threads = 0);
  // Layers must come in order, each once; this is not checked. Throws Error(kOther) for a chunk of a layer, and as
  // fused_weights() and add_residual() do.
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override;
  // Accepts a whole layer W_l with fused heads, the result of steps 1 to 4 of graph/mixing.h.
  void fused_layer(std::size_t layer, TensorView<const double> weights);
  // R[l, 0] for the last layer received; empty before the first.
  const Tensor<double>& result() const { return product_; }

 private:
  MixingOptions options_;
  LayerFunction done_;
  std::size_t threads_;
  Tensor<double> product_;
};

}  // namespace attnflow
