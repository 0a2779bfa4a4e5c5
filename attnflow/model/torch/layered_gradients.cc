#include "attnflow/model/torch/layered_gradients.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <optional>
#include <vector>

#include "attnflow/base/progress.h"
#include "attnflow/model/torch/tensor_source.h"

namespace attnflow::internal {

namespace {

at::Tensor as_heads(const at::Tensor& weights) {
  return on_host(weights.reshape({-1, weights.size(-2), weights.size(-1)}));
}

}  // namespace

LayeredGradient differentiate_layers(const LayeredModel& model, const at::Tensor& input, AttentionGradientSink* sink,
                                     const std::stop_token& stop_token) {
  std::vector<at::Tensor> inputs = {input};  // of each layer, and the last layer's output
  {
    const c10::NoGradGuard no_gradients;
    for (std::size_t layer = 0; layer < model.layers; ++layer) {
      if (stop_token.stop_requested()) throw Cancelled();
      const bool is_last = layer + 1 == model.layers;  // it is the first to run again
      inputs.push_back(
          model.run_layer(layer, inputs.back(), nullptr, is_last ? std::nullopt : std::optional(layer + 1)));
    }
  }

  const c10::AutoGradMode gradients(true);
  const auto leaf_of = [&] {  // removes the topmost input from the list
    at::Tensor leaf = inputs.back().detach().requires_grad_(true);
    inputs.pop_back();
    return leaf;
  };
  at::Tensor leaf = leaf_of();
  const at::Tensor value = model.value(leaf);
  LayeredGradient result;
  result.value = value.item<double>();
  at::Tensor gradient = torch::autograd::grad({value}, {leaf}).front();
  if (sink != nullptr) {
    const at::Tensor stream = on_host(leaf.detach()[0]);
    const at::Tensor slope = on_host(gradient[0]);
    sink->top(view_of(stream), view_of(slope));
    if (!sink->wants_layers()) {
      result.gradient = gradient;
      return result;
    }
  }
  for (std::size_t layer = model.layers; layer-- > 0;) {
    if (stop_token.stop_requested()) throw Cancelled();
    leaf = leaf_of();
    LayerTap tap;
    const std::optional<std::size_t> next = layer == 0 ? std::nullopt : std::optional(layer - 1);
    at::Tensor output = model.run_layer(layer, leaf, sink == nullptr ? nullptr : &tap, next);
    if (sink == nullptr) {
      gradient = torch::autograd::grad({output}, {leaf}, {gradient}).front();
      continue;
    }
    const std::vector<at::Tensor> all = torch::autograd::grad({output}, {leaf, tap.weights, tap.output}, {gradient});
    gradient = all[0];
    output.reset();  // and with it the layer's intermediate results
    const at::Tensor attention = as_heads(tap.weights);
    at::Tensor slope = as_heads(all[1]);
    tap = {};
    // This is the gradient of the product of attention and values, of which half reached the weights.
    if (model.rule == BackwardRule::kAttnLrp) slope = slope * 2.0;
    const at::Tensor residual = on_host(leaf[0]);
    const at::Tensor output_gradient = on_host(all[2][0]);
    sink->layer({.layer = layer + 1,
                 .attention = view_of(attention),
                 .attention_gradient = view_of(slope),
                 .residual = view_of(residual),
                 .output_gradient = view_of(output_gradient)});
  }
  result.gradient = gradient;
  return result;
}

at::Tensor value_of(const ScoreTarget& target, const at::Tensor& logits) {
  const auto label = static_cast<std::int64_t>(target.label);
  const auto mean_of_others = [&](const at::Tensor& values) {
    at::Tensor sum = values[static_cast<std::int64_t>(target.others.front())];
    for (std::size_t i = 1; i < target.others.size(); ++i) {
      sum = sum + values[static_cast<std::int64_t>(target.others[i])];
    }
    return sum / static_cast<double>(target.others.size());
  };
  switch (target.kind) {
    case ScoreTarget::Kind::kLogit:
      return logits[label];
    case ScoreTarget::Kind::kLogitDifference:
      return logits[label] - mean_of_others(logits);
    case ScoreTarget::Kind::kLogitAgainstRest: {
      const auto rest = static_cast<double>(logits.numel() - 1);
      return rest == 0.0 ? logits[label] : logits[label] - (logits.sum() - logits[label]) / rest;
    }
    case ScoreTarget::Kind::kProbability:
      return at::softmax(logits, -1)[label];
    case ScoreTarget::Kind::kProbabilityDifference: {
      const at::Tensor probabilities = at::softmax(logits, -1);
      return probabilities[label] - mean_of_others(probabilities);
    }
  }
  return {};
}

}  // namespace attnflow::internal
