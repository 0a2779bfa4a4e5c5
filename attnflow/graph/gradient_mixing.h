// Gradient-adjusted attention: mixing for one output of the model, with attention weighted by its gradient.
//
// Problem. Attention weights show where a layer attends, for whatever purpose. For one score of the model's output (the
// logit y of a class, or of the next token), some of it speaks for the score, some against it, and some has no effect.
// How can a layer's matrix count only what speaks for y?
//
// Definition (H. Chefer, S. Gur & L. Wolf, Generic Attention-model Explainability for Interpreting Bi-Modal and
// Encoder-Decoder Transformers, ICCV 2021, equations 5 and 6 for self-attention). With W_l[h] the attention of head h
// in layer l after softmax, and dy / dW_l[h] the gradient with respect to each weight, all others being constant,
//
//     G_l = (1 / H) sum_h max(0, dy / dW_l[h] * W_l[h])        elementwise: clipped head by head, then averaged,
//     R_0 = I,  R_l = R_(l-1) + G_l R_(l-1),   that is   R_L = (I + G_L) ... (I + G_1).
//
// So A_l = I + G_l. As published, rollout multiplies these without normalization (ResidualRule::kAdded).
//
// Units. y is a logit, so G is in units of y, and the model's scale decides its weight relative to the identity. Rows
// of A_l sum to 1 + sum_k G_l[q, k] >= 1, so a rollout value as published is not a share: rows of R sum to at least 1,
// and grow with depth. The laws of flow (flow/flow.h) need row sums of at most 1. So for flow, and for rollout if
// shares are wanted, each row is divided by its sum (ResidualRule::kAddedNormalized):
//
//     A_l[q, k] = (I + G_l)[q, k] / (1 + sum_k' G_l[q, k']).
//
// Renormalizing changes more than the unit: tokens with much evidence are scaled down to the level of those with
// little. A gradient of 0 gives A_l = I in both cases.
//
// Where the score is read. y depends on the top layer only through the positions that the output reads (the class
// token; in a decoder, the last position). G_L is 0 in all other rows: when the top layer alone is aggregated, only the
// rows of these positions carry information about y, and other output tokens get the identity.
//
// The other steps of mixing. Heads are fused by their mean; max, min and a single head are not defined here. Masking
// sets columns of G to 0: such a token passes on only what the residual brings. Discarding sets the smallest share of
// G's n^2 weights to 0; clipped weights are 0 already and go first. Neither step renormalizes: a row of G has no sum to
// restore. Raw values are G_l. For finished values (graph/normalize.h), row normalization is as usual. Receptive-field
// normalization divides by the same method's value for another graph, in which the sum of each row of G is spread
// evenly over the keys that the query attends to (spread_evenly()), as uniform attention spreads 1.
//
// All arithmetic is float64, with heads in order: the same input gives the same bits.
//
// References:
//   H. Chefer, S. Gur and L. Wolf, ICCV 2021, as above: https://arxiv.org/abs/2103.15679
//
// Example:
//
//     GradientGraphSink sink(attention.extent(0), {.residual_rule = ResidualRule::kAddedNormalized});
//     for (std::size_t l = attention.extent(0); l > 0; --l) {  // as a model does: layers from the top
//       sink.layer({.layer = l, .attention = attention[l - 1], .attention_gradient = gradient[l - 1]});
//     }
//     const AttentionGraph evidence = sink.take();
//     const FlowResult result = attention_flow(evidence, {.layers = {6}, .output_token = 0});  // flow/flow.h
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/graph/attention_mask.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

struct GradientMixingOptions {
  ResidualRule residual_rule = ResidualRule::kAdded;  // as published; or kAddedNormalized
  WeightRemoval removal = {};
};

// Returns G_l of one layer, [query, key], from [head, query, key] and the gradient of the same shape. O(H n^2), plus
// O(n^2) for discard. Throws Error(kUsage) for a position or share that is out of range, Error(kBadFile) for attention
// that is negative, or attention or gradients that are not finite, and Error(kOther) for shapes that do not match.
Tensor<double> gradient_weights(TensorView<const float> attention, TensorView<const float> gradient,
                                const GradientMixingOptions& options = {});

// The parts of the score that go through the feed-forward nets and past them (attention_gradient_sink.h): their sizes,
// since both may be negative.
struct FeedForwardRelevance {
  Tensor<double> through;  // [layer, position]: |f_i . ds/dz_i|
  Tensor<double> past;     // same shape: |u_i . ds/dz_i|
};

// A sink that keeps one matrix per layer: O(L n^2) memory, independent of the number of heads.
class GraphOfGradientsSink : public AttentionGradientSink {
 public:
  explicit GraphOfGradientsSink(std::size_t layers) : layers_(layers), seen_(layers, false) {}
  // Accepts layers in any order. Throws as the computation of the matrix does, and Error(kOther) for a layer that does
  // not exist, has come before, or has a different number of tokens.
  void layer(const LayerGradients& gradients) final;
  // Returns the graph. Throws Error(kOther) unless every layer has come. Call once.
  virtual AttentionGraph take();
  // The share of the total that speaks against the target, for mixings that measure it.
  virtual std::optional<double> negative_share() const { return std::nullopt; }
  // For each layer and position, what goes through the feed-forward net and what passes it by, for mixings that measure
  // it where the model tells; otherwise empty.
  virtual FeedForwardRelevance feed_forward() const { return {}; }

 private:
  // Computes a layer's matrix, [query, key].
  virtual Tensor<double> weights(const LayerGradients& gradients) = 0;

  std::size_t layers_;
  AttentionGraph graph_;
  std::vector<bool> seen_;
};

class GradientGraphSink : public GraphOfGradientsSink {
 public:
  // Throws Error(kUsage) for a rule that adds no identity.
  explicit GradientGraphSink(std::size_t layers, GradientMixingOptions options = {});
  AttentionGraph take() override;

 private:
  Tensor<double> weights(const LayerGradients& gradients) override;

  GradientMixingOptions options_;
};

// The baseline of receptive-field normalization for a graph whose rows need not sum to 1: every row's sum is spread
// evenly over the keys that the query attends to. A contained residual stays: the diagonal is kept and the rest of the
// row is spread over the other keys. For rows that sum to 1 and a separate residual, this is uniform_graph(). O(L n^2).
AttentionGraph spread_evenly(const AttentionGraph& graph, const AttentionMask& mask);

// Throws Error(kOther) unless attention and its gradient are [head, token, token] of one shape, and Error(kBadFile) for
// attention that is negative and numbers that are not finite.
void check_layer_gradients(const LayerGradients& gradients);

}  // namespace attnflow
