// Relevance: mixing by what each position contributes to one prediction of the model.
//
// Problem. Attention shows where a layer attends, and contributions (graph/contribution_mixing.h) what arrives from
// there. Neither shows which part of it the prediction uses. How can a layer's matrix count exactly that?
//
// Definition. With x_i, T_ij and y_i of a layer (graph/layer_terms.h: y_i = x_i + sum_j T_ij + b), a target s (a logit,
// or the difference of two), and g_i the gradient of s at y_i by AttnLRP's rules (BackwardRule::kAttnLrp),
//
//     E_ij = (T_ij + d_ij x_i) . g_i                 d_ij = 1 if i = j
//     W_ij = max(0, E_ij)
//
// By head (RelevanceParts::kByHead), with T_ij^h = a_ij^h v_j^h O^h the vector that head h writes, each head is a
// separate arc, and so is the residual connection:
//
//     W_ij = sum_h max(0, T_ij^h . g_i) + d_ij max(0, x_i . g_i)
//
// If one head takes something from a position and another gives it back, both then count. According to measurements
// (docs/edges.md), flow is better with separate arcs for heads, and rollout with their sum.
//
// E_ij is in units of s, mostly logits: the amount that flows from position j of a layer's input to position i of its
// output and on to the prediction. Under AttnLRP's rules relevance is conserved up to biases: sum_ij E_ij is about s in
// every layer. Mixtures of experts do not conserve it: half of what an expert adds goes to its weight, and the router's
// softmax passes on little of that. In layers whose norm comes after the block (BERT), y_i is the sum before that norm,
// whose rule is part of g_i, so no norm has to be linearized. In layers whose feed-forward net is parallel to attention
// (GPT-NeoX), x_i is multiplied not by the gradient at y_i but by the gradient along every path past attention,
// including through the net.
//
// Method. T_ij . g_i = sum_h a_ij^h ds/da_ij^h, so neither T nor the output projection is needed: only attention, its
// gradient, and the dot products x_i . g_i. O(H n^2 + n d) per layer, O(L n^2) memory; the model does the backward
// pass.
//
// Two interpretations. For rollout, amounts that are divided in proportion, of which a position passes on no more than
// it carries (ResidualRule::kContainedNormalized, rollout/capacity_rollout.h), so that rollout gives the shares of the
// prediction that go back to the inputs. As capacities, for flow: W is used unchanged (ResidualRule::kContained), so
// that arcs of positions that the prediction does not use carry next to nothing, and the maximum flow from the output
// to an input is the most relevance that can be routed to it. Capacities must sum to at most 1 for the laws of flow
// (flow/flow.h), so the weights of all layers are divided by AttentionGraph::unit, a power of two, which causes no
// rounding; multiplied by it, values are in units of s.
//
// Feed-forward nets. No arc shows them, since they move nothing between positions, but relevance goes through them: at
// position i of layer l the share
//
//     S_li = |f_i . g'_i| / (|f_i . g'_i| + |u_i . g'_i|)
//
// with f_i what the net adds, u_i the stream that passes it by, and g'_i the gradient at their sum. Both products add
// up to the relevance of the sum, as the terms of E_i do to that of y_i, but they may differ in sign, so sizes are
// compared.
//
// The negative part, which speaks against s, is not in the graph; negative_share() gives its share. Removal sets
// weights to 0 (graph/mixing.h) except on the diagonal, which holds what stays at a position; nothing is renormalized.
// All arithmetic is float64, with heads in order: the same input gives the same bits.
//
// References:
//   R. Achtibat et al., AttnLRP: Attention-Aware Layer-Wise Relevance Propagation for Transformers, ICML 2024:
//     https://arxiv.org/abs/2402.05602
//   As edges of rollout and flow: this project (docs/edges.md).
//
// Example:
//
//     RelevanceGraphSink sink(kLayers);
//     for (std::size_t l = kLayers; l > 0; --l) {  // as a model does: layers from the top, by AttnLRP's rules
//       sink.layer({.layer = l,
//                   .attention = attention[l - 1],
//                   .attention_gradient = gradient[l - 1],
//                   .residual = residual.view(),
//                   .output_gradient = slope.view()});
//     }
//     const double against = *sink.negative_share();
//     const AttentionGraph relevance = sink.take();
//     assert(against > 0.0 && against < 1.0 && relevance.unit >= 1.0);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/graph/gradient_mixing.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

enum class RelevanceParts : std::uint8_t { kTogether, kByHead };

// Returns E of one layer, [query, key]. Throws Error(kBadFile) for attention that is negative and numbers that are not
// finite, and Error(kOther) for shapes that do not match.
Tensor<double> signed_relevance(const LayerGradients& gradients);

// W of one layer, and the sums of absolute values that determine its negative share. Throws as signed_relevance() does.
struct PositiveRelevance {
  Tensor<double> weights;  // [query, key]
  double against = 0.0;    // sum of |E^-|; by head: over its parts
  double all = 0.0;        // sum of |E|
};
PositiveRelevance positive_relevance(const LayerGradients& gradients, RelevanceParts parts);

// Returns S, [layer, group]. A group sums the sizes of its positions first. 0 where nothing is relevant. Empty
// for empty amounts.
Tensor<double> feed_forward_shares(const FeedForwardRelevance& relevance, const TokenGroups& groups);

class RelevanceGraphSink : public GraphOfGradientsSink {
 public:
  explicit RelevanceGraphSink(std::size_t layers, WeightRemoval removal = {},
                              RelevanceParts parts = RelevanceParts::kTogether)
      : GraphOfGradientsSink(layers), removal_(std::move(removal)), parts_(parts), layers_(layers) {}
  AttentionGraph take() override;

  // Returns sum |E^-| / sum |E| over all layers that have come, before removal: 0 if nothing speaks against the target.
  std::optional<double> negative_share() const override;
  FeedForwardRelevance feed_forward() const override;

 private:
  Tensor<double> weights(const LayerGradients& gradients) override;
  void keep_feed_forward(const LayerGradients& gradients);

  WeightRemoval removal_;
  RelevanceParts parts_;
  std::size_t layers_ = 0;
  FeedForwardRelevance feed_forward_;
  std::size_t layers_known_ = 0;  // of feed_forward_
  double negative_ = 0.0;
  double all_ = 0.0;
};

}  // namespace attnflow
