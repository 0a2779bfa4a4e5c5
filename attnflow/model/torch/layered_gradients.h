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
// Several numbers s_1, ..., s_K of one text share the forward pass. In the backward pass they are a batch: layer l runs
// again for K copies of x_(l-1), each of which gets its own gradient, so that weights are prepared once for all. In a
// decoder s_k at position p_k depends on positions up to p_k alone, and its sink gets those.
//
// Determinism: runs on the calling thread, so results do not depend on the number of threads.
//
// Reference: Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016. https://arxiv.org/abs/1604.06174
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/model/model.h"
#include "attnflow/model/torch/autograd_ops.h"

namespace attnflow::internal {

struct LayeredModel {
  std::size_t layers = 0;
  // f of layer `index` (from 0), for x [B, T, hidden]. `tap` may be null; `next` is the layer that runs next, if any.
  std::function<at::Tensor(std::size_t index, const at::Tensor& x, LayerTap* tap, std::optional<std::size_t> next)>
      run_layer;
  BackwardRule rule = BackwardRule::kGradient;  // used to compute it and the numbers
};

struct LayeredTarget {
  std::function<at::Tensor(const at::Tensor& x)> value;  // s of x_L [1, T, hidden]: a tensor of one number
  // May be null. If it wants no layers, the backward pass ends above the last layer, and the gradient is ds/dx_L.
  AttentionGradientSink* sink = nullptr;
  std::size_t tokens = 0;  // of the text that the sink gets
};

struct LayeredGradient {
  double value = 0.0;   // s
  at::Tensor gradient;  // ds/dx_0, with the shape of x_0
};

// Either all targets have sinks that want layers, or none does. Throws Cancelled.
std::vector<LayeredGradient> differentiate_layers(const LayeredModel& model, const at::Tensor& input,
                                                  std::span<const LayeredTarget> targets,
                                                  const std::stop_token& stop_token = {});

// Returns the number that a target selects from logits [classes], or an embedding [hidden].
at::Tensor value_of(const ScoreTarget& target, const at::Tensor& logits, BackwardRule rule = BackwardRule::kGradient);

}  // namespace attnflow::internal
