// Gradient-adjusted attention: mixing for one output of the model, by attention weighted with its gradient.
//
// Problem. Attention weights say where a layer looked, whatever for. For one score of the model's output (the logit y
// of a class, or of the next token) some of what was looked at speaks for it, some against it, and some has no effect.
// What is a layer's matrix when only what speaks for y is to count?
//
// Definition (H. Chefer, S. Gur & L. Wolf, Generic Attention-model Explainability for Interpreting Bi-Modal and
// Encoder-Decoder Transformers, ICCV 2021, equations 5 and 6 for self-attention). With W_l[h] the attention of head h
// in layer l after softmax, and dy / dW_l[h] the gradient with respect to each weight, all others kept as they are,
//
//     G_l = (1 / H) sum_h max(0, dy / dW_l[h] * W_l[h])        elementwise: clipped head by head, then averaged,
//     R_0 = I,  R_l = R_(l-1) + G_l R_(l-1),   that is   R_L = (I + G_L) ... (I + G_1).
//
// So A_l = I + G_l. As published, rollout multiplies these as they are (ResidualRule::kAdded).
//
// Units. y is a logit, so G is in units of y: it doubles when y does, and a model's scale decides how much weighs
// against the identity. Rows of A_l sum to 1 + sum_k G_l[q, k] >= 1, so a rollout value as published is no share: rows
// of R sum to at least 1, and grow with depth. For flow a capacity above 1 means nothing, and its laws (flow/flow.h)
// need row sums of at most 1; there, and for rollout where shares are wanted, each row is divided by its sum
// (ResidualRule::kAddedNormalized):
//
//     A_l[q, k] = (I + G_l)[q, k] / (1 + sum_k' G_l[q, k']).
//
// These rows sum to 1: rollout's do, flow is at most 1 and at least the rollout of the same matrices. Renormalising
// changes more than the unit: tokens with much evidence are brought down to the level of those with little. A gradient
// of 0 gives A_l = I in both.
//
// Where the score is read. y depends on the top layer through the positions that the output reads only (the class
// token; in a decoder the last position), so G_L is 0 in all other rows, and only the rows of these positions say
// anything about y. Aggregating the top layer alone, other output tokens get the identity.
//
// The other steps of mixing. Heads are fused by their mean; max, min and one head are not defined here. Masking columns
// makes G's columns 0: such a token passes on only what the residual brings. Discarding makes the smallest share
// of G's n^2 weights 0; clipped weights are 0 already and go first. Neither renormalises: a row of G has no sum to go
// back to. Raw values are G_l. Of finished values (graph/normalize.h), row normalisation is as ever; receptive-field
// normalisation divides by the same method's value under G's row sums spread evenly over what each query sees
// (spread_evenly), as uniform attention spreads 1.
//
// All arithmetic is float64, heads in order: same input, same bits.
//
// References:
//   H. Chefer, S. Gur and L. Wolf, Generic Attention-model Explainability for Interpreting Bi-Modal and Encoder-Decoder
//     Transformers, ICCV 2021: https://arxiv.org/abs/2103.15679
//
// Example:
//
//     GradientGraphSink sink(attention.extent(0), {.residual_rule = ResidualRule::kAddedNormalized});
//     for (std::size_t l = attention.extent(0); l > 0; --l) {  // what a model does: layers from the top
//       sink.layer({.layer = l, .attention = attention[l - 1], .attention_gradient = gradient[l - 1]});
//     }
//     const AttentionGraph evidence = sink.take();
//     const FlowResult result = attention_flow(evidence, {.layers = {6}, .output_token = 0});  // flow/flow.h
#ifndef ATTNFLOW_GRAPH_GRADIENT_MIXING_H_
#define ATTNFLOW_GRAPH_GRADIENT_MIXING_H_

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

struct GradientMixingOptions {
  ResidualRule residual_rule = ResidualRule::kAdded;  // as published; or kAddedNormalized
  WeightRemoval removal = {};
};

// G_l of one layer, [query, key], from [head, query, key] and the gradient of the same shape. O(H n^2), and O(n^2) more
// for discard. Throws Error(kUsage) for a position or share that is out of range, Error(kBadFile) for attention that is
// negative, or attention or gradients that are not finite, Error(kOther) for shapes that do not fit together.
Tensor<double> gradient_weights(TensorView<const float> attention, TensorView<const float> gradient,
                                const GradientMixingOptions& options = {});

// A sink that keeps one matrix of every layer, made of attention and gradients: O(L n^2) memory, whatever the number of
// heads.
class GraphOfGradientsSink : public AttentionGradientSink {
 public:
  explicit GraphOfGradientsSink(std::size_t layers) : layers_(layers), seen_(layers, false) {}
  // Layers in any order, each once. Throws as what makes the matrix, and Error(kOther) for a layer that is not there,
  // has come before, or has another number of tokens.
  void layer(const LayerGradients& gradients) final;
  // The graph. Throws Error(kOther) unless every layer has come. Call once.
  virtual AttentionGraph take();
  // The share of what was measured that speaks against the target, of mixings that measure it.
  virtual std::optional<double> negative_share() const { return std::nullopt; }

 private:
  // A layer's matrix, [query, key].
  virtual Tensor<double> weights(const LayerGradients& gradients) = 0;

  std::size_t layers_;
  AttentionGraph graph_;
  std::vector<bool> seen_;
};

// G_l of every layer.
class GradientGraphSink : public GraphOfGradientsSink {
 public:
  // Throws Error(kUsage) for a rule that adds no identity.
  explicit GradientGraphSink(std::size_t layers, GradientMixingOptions options = {});
  AttentionGraph take() override;

 private:
  Tensor<double> weights(const LayerGradients& gradients) override;

  GradientMixingOptions options_;
};

// The baseline of receptive-field normalisation for a graph whose rows need not sum to 1: every row's sum spread evenly
// over the keys that the query sees, all of them or, when causal, the keys 0..q. The residual stays as it is: where it
// is contained, the diagonal stays and the rest of the row is spread over the other keys. For rows that sum to 1 and a
// residual of its own that is uniform_graph(). O(L n^2).
AttentionGraph spread_evenly(const AttentionGraph& graph, bool causal);

// Throws Error(kOther) unless attention and its gradient are [head, token, token] of the same shape, Error(kBadFile)
// for attention that is negative and numbers that are not finite.
void check_layer_gradients(const LayerGradients& gradients);

}  // namespace attnflow

#endif  // ATTNFLOW_GRAPH_GRADIENT_MIXING_H_
