#include "attnflow/model/torch/layered_gradients.h"

#include <torch/csrc/autograd/autograd.h>

#include <vector>

#include "attnflow/base/progress.h"
#include "attnflow/model/torch/tensor_source.h"

namespace attnflow::internal {

namespace {

// [..., query, key] as [head, query, key] on the host.
at::Tensor gradient_to_host(const at::Tensor& weights) {
  const std::int64_t queries = weights.size(-2);
  const std::int64_t keys = weights.size(-1);
  return weights.detach().reshape({-1, queries, keys}).to(at::kCPU).contiguous();
}

}  // namespace

LayeredGradient differentiate_layers(const LayeredModel& model, const at::Tensor& input, AttentionGradientSink* sink,
                                     const std::stop_token& stop_token) {
  std::vector<at::Tensor> inputs = {input};  // of each layer, and what the last gives
  {
    const at::NoGradGuard no_gradients;
    for (std::size_t layer = 0; layer < model.layers; ++layer) {
      if (stop_token.stop_requested()) throw Cancelled();
      inputs.push_back(model.run_layer(layer, inputs.back(), nullptr));
    }
  }

  const at::AutoGradMode gradients(true);
  const auto leaf_of = [&] {  // takes the topmost input from the list
    at::Tensor leaf = inputs.back().detach().requires_grad_(true);
    inputs.pop_back();
    return leaf;
  };
  at::Tensor leaf = leaf_of();
  const at::Tensor value = model.value(leaf);
  LayeredGradient result;
  result.value = value.item<double>();
  at::Tensor gradient = torch::autograd::grad({value}, {leaf}).front();
  for (std::size_t layer = model.layers; layer-- > 0;) {
    if (stop_token.stop_requested()) throw Cancelled();
    leaf = leaf_of();
    at::Tensor weights;
    at::Tensor output = model.run_layer(layer, leaf, sink == nullptr ? nullptr : &weights);
    if (sink == nullptr) {
      gradient = torch::autograd::grad({output}, {leaf}, {gradient}).front();
      continue;
    }
    const std::vector<at::Tensor> both = torch::autograd::grad({output}, {leaf, weights}, {gradient});
    gradient = both[0];
    output.reset();  // and with it what the layer kept inside
    const at::Tensor attention = gradient_to_host(weights);
    const at::Tensor slope = gradient_to_host(both[1]);
    sink->layer(layer + 1, view_of(attention), view_of(slope));
  }
  result.gradient = gradient;
  return result;
}

at::Tensor value_of(const ScoreTarget& target, const at::Tensor& logits) {
  const auto label = static_cast<std::int64_t>(target.label);
  if (target.kind == ScoreTarget::Kind::kLogit) return logits[label];
  const at::Tensor probabilities = at::softmax(logits, -1);
  if (target.kind == ScoreTarget::Kind::kProbability) return probabilities[label];
  return probabilities[label] - probabilities[static_cast<std::int64_t>(target.other)];
}

}  // namespace attnflow::internal
