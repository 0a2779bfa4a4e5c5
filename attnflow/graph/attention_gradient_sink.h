// Where attention goes together with the gradient of a score, layer by layer.
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
//     LargestGradient sink;  // what a model does, with arrays of [layer, head, query, key]:
//     for (std::size_t l = attention.extent(0); l > 0; --l) {
//       sink.layer({.layer = l, .attention = attention[l - 1], .attention_gradient = gradient[l - 1]});
//     }
#ifndef ATTNFLOW_GRAPH_ATTENTION_GRADIENT_SINK_H_
#define ATTNFLOW_GRAPH_ATTENTION_GRADIENT_SINK_H_

#include <cstddef>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

// With s a score of a model's output, x_i the residual stream before the attention block of layer l at position i, y_i
// behind it (graph/layer_terms.h), and W_l the block's attention as if it were an input of its own. A gradient of W_l
// is ds / dW_l[head, query, key]: how much the score grows with a weight while all other weights of that layer stay as
// they are, rows not renormalised. All is valid only during the call that hands it over.
//
// By the rules of AttnLRP (model/model.h) a product of attention and values passes half of what it gets on to each
// side; the gradient of W_l is taken before it is halved. So sum_h W_l[h, i, j] ds/dW_l[h, i, j] = T_ij . ds/dy_i by
// either rule, what position j writes into position i times what the score makes of it.
struct LayerGradients {
  std::size_t layer = 0;                       // 1 for the first
  TensorView<const float> attention;           // [head, query, key], after softmax; of all positions
  TensorView<const float> attention_gradient;  // of the same shape
  TensorView<const float> residual = {};       // [position, hidden]: x
  // [position, hidden]: ds / dy; of a layer whose feed-forward net stands beside attention, ds / dx past attention
  TensorView<const float> output_gradient = {};
};

// A model hands these over and keeps none, so that memory is the sink's choice: all of it, or one [query, key] matrix a
// layer (Chefer, Gur & Wolf, ICCV 2021: the mean over heads of max(0, gradient x attention)).
class AttentionGradientSink {
 public:
  virtual ~AttentionGradientSink() = default;

  // Before the layers: the residual stream behind the last one, [position, hidden], and the score's gradient there.
  virtual void top(TensorView<const float> residual, TensorView<const float> gradient) {
    static_cast<void>(residual);
    static_cast<void>(gradient);
  }

  // Whether the layers are of use, which take most of the time.
  virtual bool wants_layers() const { return true; }

  // One layer; layers come from the top, layers L, L - 1, ..., 1, as gradients do.
  virtual void layer(const LayerGradients& gradients) = 0;
};

}  // namespace attnflow

#endif  // ATTNFLOW_GRAPH_ATTENTION_GRADIENT_SINK_H_
