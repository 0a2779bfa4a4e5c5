// Computes gradients through a stack of layers, one layer in memory at a time: gradient checkpointing at every layer.
//
// Problem. With x_0 the input of the first layer, x_l = f_l(x_(l-1)) for l = 1..L and a number s(x_L), find ds/dx_0
// and, on request, ds/dW_l and ds/dy_l for every layer, where W_l are its attention weights after softmax and y_l is
// the residual stream after its attention block, each an independent input: the derivative along all paths to s.
//
// Method. Forward: compute x_1, ..., x_L without gradients and keep the x_l. Backward: compute layer l again from
// x_(l-1), with gradients, and propagate ds/dx_l back through it alone. Work: three forward passes instead of two.
// Memory: O(L n d) for the inputs, and O(H n^2) for the inside of one layer.
//
// Determinism: runs on the calling thread, so results do not depend on the number of threads.
//
// Reference: Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016. https://arxiv.org/abs/1604.06174
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>

#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/model/model.h"
#include "attnflow/model/torch/autograd_ops.h"

namespace attnflow::internal {

struct LayeredModel {
  std::size_t layers = 0;
  // f of layer `index` (from 0), for x [1, T, hidden]. `tap` may be null; `next` is the layer that runs next, if any.
  std::function<at::Tensor(std::size_t index, const at::Tensor& x, LayerTap* tap, std::optional<std::size_t> next)>
      run_layer;
  std::function<at::Tensor(const at::Tensor& x)> value;  // s: a tensor of one number
  BackwardRule rule = BackwardRule::kGradient;           // used to compute both
};

struct LayeredGradient {
  double value = 0.0;   // s
  at::Tensor gradient;  // ds/dx_0, with the shape of x_0
};

// `sink` may be null. If it wants no layers, the backward pass ends above the last layer, and the result's gradient is
// ds/dx_L. Throws Cancelled.
LayeredGradient differentiate_layers(const LayeredModel& model, const at::Tensor& input, AttentionGradientSink* sink,
                                     const std::stop_token& stop_token = {});

// Returns the number that a target selects from logits [classes].
at::Tensor value_of(const ScoreTarget& target, const at::Tensor& logits);

}  // namespace attnflow::internal
