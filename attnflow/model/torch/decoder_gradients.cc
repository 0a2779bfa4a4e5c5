#include "attnflow/model/torch/decoder_gradients.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "attnflow/model/torch/layered_gradients.h"

namespace attnflow::internal {

namespace {

Tensor<float> to_host(const at::Tensor& values) {
  const at::Tensor host = values.contiguous();
  Shape shape;
  for (const std::int64_t extent : host.sizes()) shape.push_back(static_cast<std::size_t>(extent));
  const float* const begin = host.data_ptr<float>();
  return Tensor<float>(std::move(shape), std::vector<float>(begin, begin + host.numel()));
}

// Added to scores: minus infinity for keys that a query cannot see. [n, n]
at::Tensor mask_of(std::int64_t n, std::int64_t window) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  at::Tensor mask = at::full({n, n}, kHidden, at::TensorOptions(at::kFloat)).triu_(1);
  if (window == 0) return mask;
  const at::Tensor position = at::arange(n);
  return mask.masked_fill_(position.view({1, -1}) <= position.view({-1, 1}) - window, kHidden);
}

// One layer over a whole sequence: [n, hidden] to [n, hidden]. `kept` (may be null) becomes its attention weights.
at::Tensor run_layer(const DecoderConfig& config, const DecoderLayer& layer, const Rotation& rotation,
                     const at::Tensor& x, at::Tensor* kept) {
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
  if (kept != nullptr) *kept = weights;
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
                                    const std::stop_token& stop_token, AttentionGradientSink* sink) {
  const Rotation rotation = tensors.rotation(0, ids.size());
  LayeredModel model;
  model.layers = tensors.layers.size();
  model.run_layer = [&](std::size_t layer, const at::Tensor& x, at::Tensor* weights) {
    return run_layer(config, tensors.layers[layer], rotation, x, weights);
  };
  model.value = [&](const at::Tensor& x) {
    const at::Tensor last = x.narrow(0, x.size(0) - 1, 1);
    return value_of(target, tensors.output(tensors.final_norm(last))[0]);
  };
  at::Tensor embedding;
  {
    const at::NoGradGuard no_gradients;
    embedding = tensors.embed(ids, 0);
  }
  const LayeredGradient found = differentiate_layers(model, embedding, sink, stop_token);
  InputGradient result;
  result.value = found.value;
  result.embedding = to_host(embedding);
  result.gradient = to_host(found.gradient);
  return result;
}

}  // namespace attnflow::internal
