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
//       void layer(std::size_t, TensorView<const float>, TensorView<const float> gradient) override {
//         for (const float slope : gradient.span()) largest = std::max(largest, slope);
//       }
//     };
//     LargestGradient sink;  // what a model does, with arrays of [layer, head, query, key]:
//     for (std::size_t l = attention.extent(0); l > 0; --l) sink.layer(l, attention[l - 1], gradient[l - 1]);
#ifndef ATTNFLOW_GRAPH_ATTENTION_GRADIENT_SINK_H_
#define ATTNFLOW_GRAPH_ATTENTION_GRADIENT_SINK_H_

#include <cstddef>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

// With s a score of a model's output and W_l the attention of layer l as if it were an input of its own, the gradient
// is ds / dW_l[head, query, key]: how much the score grows with a weight while all other weights of that layer stay as
// they are, rows not renormalised. A model hands both over and keeps neither, so that memory is the sink's choice: all
// of it, or one [query, key] matrix a layer (Chefer, Gur & Wolf, ICCV 2021: the mean over heads of
// max(0, gradient x attention)).
class AttentionGradientSink {
 public:
  virtual ~AttentionGradientSink() = default;

  // One layer; layers come from the top, layers L, L - 1, ..., 1, as gradients do.
  //   layer      1 for the first layer
  //   attention  [head, query, key], after softmax; of all positions
  //   gradient   the same shape. Both are valid only during the call.
  virtual void layer(std::size_t layer, TensorView<const float> attention, TensorView<const float> gradient) = 0;
};

}  // namespace attnflow

#endif  // ATTNFLOW_GRAPH_ATTENTION_GRADIENT_SINK_H_
