// Attention rollout of one output while a model passes back: layers come from the top down.
//
// Problem. Relevance and gradient mixings take one pass forward and one back, and their maps answer another question
// than the paper's rollout over attention, which readers want beside them. Keeping attention for it would take O(L n^2)
// memory more, or a second run.
//
// Definition. With W_l the attention of layer l, averaged over its heads, and A_l = (1 - rho) W_l + rho I, the row of
// an output i is r = e_i A_t ... A_(m+1), from layer t down to layer m. For a word of several tokens, e_i is their
// mean.
//
// Method. The product is taken from the left, r <- (1 - rho) r W_l + rho r, in the order in which a backward pass shows
// attention (graph/attention_gradient_sink.h). O(H n^2) time a layer, O(n) memory. Equal to rollout_row() up to
// rounding. All arithmetic is float64, with heads in order: the same input gives the same bits.
//
// References:
//   S. Abnar and W. Zuidema, Quantifying Attention Flow in Transformers, ACL 2020: https://arxiv.org/abs/2005.00928
//
// Example:
//
//     DescendingRollout sink({.tokens = {0}, .top = 6});
//     for (std::size_t l = 6; l > 0; --l) {
//       sink.layer({.layer = l, .attention = attention[l - 1], .attention_gradient = gradient[l - 1]});
//     }
//     const std::vector<double> row = sink.take();
//     assert(std::abs(row[3] - rollout_row(attention_graph(stack), 0, 6)[3]) < 1e-12);  // rollout/rollout.h
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/graph/attention_gradient_sink.h"

namespace attnflow {

struct DescendingQuestion {
  std::vector<std::size_t> tokens;  // of the output; their rows are averaged
  std::size_t top = 0;              // t
  std::size_t start_layer = 0;      // m < t
  double residual = 0.5;            // rho
};

class DescendingRollout : public AttentionGradientSink {
 public:
  explicit DescendingRollout(DescendingQuestion question);
  // Skips layers above the top and down to start_layer. Throws Error(kOther) unless the others come from the top down,
  // each once, all with the same tokens, among which are the output's.
  void layer(const LayerGradients& gradients) override;
  // Returns the row, [input token]. Throws Error(kOther) unless every layer has come. Call once.
  std::vector<double> take();

 private:
  DescendingQuestion question_;
  std::size_t expected_;
  std::vector<double> row_;
};

}  // namespace attnflow
