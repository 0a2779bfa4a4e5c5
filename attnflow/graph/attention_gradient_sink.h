// Receives attention together with the gradient of a score, layer by layer.
//
// References:
//   H. Chefer, S. Gur and L. Wolf, Generic Attention-model Explainability for Interpreting Bi-Modal and Encoder-Decoder
//     Transformers, ICCV 2021: https://arxiv.org/abs/2103.15679
//
// Example:
//
//     struct LargestGradient : AttentionGradientSink {
//       float largest = 0.0F;
//       void layer(const LayerGradients& gradients) override {
//         for (const float slope : gradients.attention_gradient.span()) largest = std::max(largest, slope);
//       }
//     };
//     LargestGradient sink;  // as a model does, with arrays of [layer, head, query, key]:
//     for (std::size_t l = attention.extent(0); l > 0; --l) {
//       sink.layer({.layer = l, .attention = attention[l - 1], .attention_gradient = gradient[l - 1]});
//     }
#pragma once

#include <cstddef>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Let s be a score of a model's output, x_i the residual stream before the attention block of layer l at position i,
// y_i the one after it (graph/layer_terms.h), and W_l the block's attention as an independent input. The gradient of
// W_l is ds / dW_l[head, query, key]: how much the score grows with a weight while the layer's other weights stay
// constant, without renormalizing rows. Views are valid only during the call.
//
// Under AttnLRP's rules (model/model.h) a product of attention and values passes half of its relevance to each factor;
// the gradient of W_l is taken before it is halved. So under either rule, sum_h W_l[h, i, j] ds/dW_l[h, i, j] = T_ij .
// ds/dy_i: the vector that position j writes into position i times the score's gradient there.
//
// The feed-forward net adds f_i to the stream u_i that passes it by: z_i = u_i + f_i, before any norm that follows.
// The part of the score that goes through the net at position i is f_i . ds/dz_i; u_i . ds/dz_i passes it by.
struct LayerGradients {
  std::size_t layer = 0;                       // 1 for the first
  TensorView<const float> attention;           // [head, query, key], after softmax; all positions
  TensorView<const float> attention_gradient;  // same shape
  TensorView<const float> residual = {};       // [position, hidden]: x
  // [position, hidden]: ds / dy; for a layer whose feed-forward net is parallel to attention, ds / dx past attention
  TensorView<const float> output_gradient = {};
  TensorView<const float> through_feed_forward = {};  // [position]: f_i . ds/dz_i; empty if not known
  TensorView<const float> past_feed_forward = {};     // [position]: u_i . ds/dz_i
};

// A model passes these on and keeps none, so that the sink decides what to store.
class AttentionGradientSink {
 public:
  virtual ~AttentionGradientSink() = default;

  // Called before the layers, with the last residual stream, [position, hidden], and the score's gradient there.
  virtual void top(TensorView<const float> residual, TensorView<const float> gradient) {
    static_cast<void>(residual);
    static_cast<void>(gradient);
  }

  // Whether layer() should be called. If not, the backward pass ends after top(), which saves most of the time.
  virtual bool wants_layers() const { return true; }

  // Called for each layer from the top down, in the order in which gradients are computed.
  virtual void layer(const LayerGradients& gradients) = 0;
};

}  // namespace attnflow
