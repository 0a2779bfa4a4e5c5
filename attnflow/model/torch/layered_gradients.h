// Gradients through a stack of layers, one layer in memory at a time: gradient checkpointing, with a checkpoint at
// every layer.
//
// Problem. With x_0 the input of the first layer, x_l = f_l(x_(l-1)) for l = 1..L and a number s(x_L), find ds/dx_0,
// and on request for every layer ds/dW_l and ds/dy_l, where W_l are its attention weights after softmax and y_l the
// residual stream behind its attention block, each taken as an input of its own: the derivative along all paths to s.
//
// Method. Up: x_1, ..., x_L without gradients; the x_l are kept. Down: layer l is computed once more from x_(l-1), with
// gradients, and ds/dx_l is taken back through that layer alone. Work: three forward passes instead of two. Memory:
// O(L n d) for the inputs, and the inside of one layer, O(H n^2).
//
// Determinism: runs on the calling thread, so the same bits whatever the number of threads.
//
// References:
//   Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016. https://arxiv.org/abs/1604.06174
#ifndef ATTNFLOW_MODEL_TORCH_LAYERED_GRADIENTS_H_
#define ATTNFLOW_MODEL_TORCH_LAYERED_GRADIENTS_H_

#include <ATen/ATen.h>

#include <cstddef>
#include <functional>
#include <stop_token>

#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/model/model.h"
#include "attnflow/model/torch/autograd_ops.h"

namespace attnflow::internal {

struct LayeredModel {
  std::size_t layers = 0;
  // f of layer `index`, from 0, of x [1, T, hidden]. `tap` may be null.
  std::function<at::Tensor(std::size_t index, const at::Tensor& x, LayerTap* tap)> run_layer;
  std::function<at::Tensor(const at::Tensor& x)> value;  // s: a tensor of one number
  BackwardRule rule = BackwardRule::kGradient;           // that both are computed by
};

struct LayeredGradient {
  double value = 0.0;   // s
  at::Tensor gradient;  // ds/dx_0, of x_0's shape
};

// `sink` may be null; one that wants no layers is done at the top, and gets the gradient there. Throws Cancelled.
LayeredGradient differentiate_layers(const LayeredModel& model, const at::Tensor& input, AttentionGradientSink* sink,
                                     const std::stop_token& stop_token = {});

// The number that a target asks for, of logits [classes].
at::Tensor value_of(const ScoreTarget& target, const at::Tensor& logits);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_LAYERED_GRADIENTS_H_
