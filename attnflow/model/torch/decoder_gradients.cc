#include "attnflow/model/torch/decoder_gradients.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace attnflow::internal {

namespace {

Tensor<float> to_host(const at::Tensor& values) {
  const at::Tensor host = values.contiguous();
  Shape shape;
  for (const std::int64_t extent : host.sizes()) shape.push_back(static_cast<std::size_t>(extent));
  const float* const begin = host.data_ptr<float>();
  return Tensor<float>(std::move(shape), std::vector<float>(begin, begin + host.numel()));
}

at::Tensor value_of(const ScoreTarget& target, const at::Tensor& logits) {
  const auto label = to_signed(target.label);
  if (target.kind == ScoreTarget::Kind::kLogit) return logits[label];
  const at::Tensor probabilities = at::softmax(logits, -1);
  if (target.kind == ScoreTarget::Kind::kProbability) return probabilities[label];
  return probabilities[label] - probabilities[to_signed(target.other)];
}

// Added to scores: minus infinity for keys that a query cannot see. [n, n]
at::Tensor mask_of(std::int64_t n, std::int64_t window) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  at::Tensor mask = at::full({n, n}, kHidden, at::TensorOptions(at::kFloat)).triu_(1);
  if (window == 0) return mask;
  const at::Tensor position = at::arange(n);
  return mask.masked_fill_(position.view({1, -1}) <= position.view({-1, 1}) - window, kHidden);
}

// One layer over a whole sequence: [n, hidden] to [n, hidden].
at::Tensor run_layer(const DecoderConfig& config, const DecoderLayer& layer, const Rotation& rotation,
                     const at::Tensor& x) {
  const std::int64_t n = x.size(0);
  const std::int64_t heads = to_signed(config.heads);
  const std::int64_t key_heads = to_signed(config.key_value_heads);
  const std::int64_t d = to_signed(config.head_width);

  const at::Tensor normed = layer.attention_norm(x);
  const at::Tensor query =
      rotation(layer.query(normed).view({n, heads, d})) * (1.0 / std::sqrt(static_cast<double>(d)));
  const at::Tensor key = rotation(layer.key(normed).view({n, key_heads, d}));
  const at::Tensor value = layer.value(normed).view({n, key_heads, d});
  // [G, H / G, n, d] and [G, 1, n, d]: heads that share keys lie side by side.
  const at::Tensor by_head = query.transpose(0, 1).reshape({key_heads, heads / key_heads, n, d});
  const at::Tensor scores = at::matmul(by_head, key.transpose(0, 1).unsqueeze(1).transpose(2, 3));
  const at::Tensor weights = at::softmax(scores + mask_of(n, layer.window), -1);
  const at::Tensor context = at::matmul(weights, value.transpose(0, 1).unsqueeze(1));
  const at::Tensor joined = context.reshape({heads, n, d}).transpose(0, 1).reshape({n, heads * d});
  const at::Tensor mixed = x + layer.attention_output(joined);

  const at::Tensor second = layer.feed_forward_norm(mixed);
  const at::Tensor in = layer.feed_forward_in(second);
  const at::Tensor inside = layer.gate.weight.defined() ? activate(layer.gate(second), config.activation) * in
                                                        : activate(in, config.activation);
  return mixed + layer.feed_forward_out(inside);
}

}  // namespace

InputGradient differentiate_decoder(const DecoderConfig& config, const DecoderTensors& tensors,
                                    std::span<const std::int64_t> ids, const ScoreTarget& target,
                                    const std::stop_token& stop_token) {
  const Rotation rotation = tensors.rotation(0, ids.size());
  std::vector<at::Tensor> inputs;  // of each layer, and what the last gives
  {
    const at::NoGradGuard no_gradients;
    inputs.push_back(tensors.embed(ids, 0));
    for (const DecoderLayer& layer : tensors.layers) {
      if (stop_token.stop_requested()) throw Cancelled();
      inputs.push_back(run_layer(config, layer, rotation, inputs.back()));
    }
  }

  const at::AutoGradMode gradients(true);
  const auto leaf_of = [&] {  // takes the topmost input from the list
    at::Tensor leaf = inputs.back().detach().requires_grad_(true);
    inputs.pop_back();
    return leaf;
  };
  InputGradient result;
  result.embedding = to_host(inputs.front());
  at::Tensor leaf = leaf_of();
  const at::Tensor last = leaf.narrow(0, leaf.size(0) - 1, 1);
  const at::Tensor value = value_of(target, tensors.output(tensors.final_norm(last))[0]);
  result.value = value.item<double>();
  at::Tensor gradient = torch::autograd::grad({value}, {leaf}).front();
  for (std::size_t layer = tensors.layers.size(); layer-- > 0;) {
    if (stop_token.stop_requested()) throw Cancelled();
    leaf = leaf_of();
    const at::Tensor output = run_layer(config, tensors.layers[layer], rotation, leaf);
    gradient = torch::autograd::grad({output}, {leaf}, {gradient}).front();
  }
  result.gradient = to_host(gradient);
  return result;
}

}  // namespace attnflow::internal
