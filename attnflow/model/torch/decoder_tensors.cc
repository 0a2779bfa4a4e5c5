#include "attnflow/model/torch/decoder_tensors.h"

namespace attnflow::internal {

Projection::Projection(TensorSource& source, const DecoderLinear& weights) {
  const auto rows = [&](const at::Tensor& all) {
    return all.narrow(0, to_signed(weights.begin), to_signed(weights.out));
  };
  const at::Tensor stored = source.get(*weights.weight);
  weight = rows(weights.layout == MatrixLayout::kOutIn ? stored : stored.t());
  if (weights.bias != nullptr) bias = rows(source.get(*weights.bias));
}

DecoderNormTensors::DecoderNormTensors(TensorSource& source, const DecoderNorm& weights, double epsilon)
    : scale(source.get(*weights.scale)), eps(epsilon) {
  if (weights.shift != nullptr) shift = source.get(*weights.shift);
}

at::Tensor DecoderNormTensors::operator()(const at::Tensor& x) const {
  if (shift.defined()) return at::layer_norm(x, scale.sizes(), scale, shift, eps);
  return x * at::rsqrt((x * x).mean(-1, /*keepdim=*/true) + eps) * scale;
}

DecoderLayer::DecoderLayer(TensorSource& source, const DecoderLayerWeights& weights, double eps,
                           std::size_t window_size)
    : attention_norm(source, weights.attention_norm, eps),
      query(source, weights.query),
      key(source, weights.key),
      value(source, weights.value),
      attention_output(source, weights.attention_output),
      feed_forward_norm(source, weights.feed_forward_norm, eps),
      feed_forward_in(source, weights.feed_forward_in),
      feed_forward_out(source, weights.feed_forward_out),
      window(to_signed(window_size)) {
  if (weights.gate.weight != nullptr) gate = Projection(source, weights.gate);
}

at::Tensor Rotation::operator()(const at::Tensor& x) const {
  if (!cos.defined()) return x;
  const std::int64_t half = cos.size(2);
  const at::Tensor first = x.narrow(2, 0, half);
  const at::Tensor second = x.narrow(2, half, half);
  return at::cat({first * cos - second * sin, second * cos + first * sin}, 2);
}

DecoderTensors::DecoderTensors(TensorSource& source, const DecoderWeights& weights)
    : word_embedding(source.get(*weights.word_embedding)),
      final_norm(source, weights.final_norm, weights.config.norm_eps) {
  if (weights.output.weight != nullptr) output = Projection(source, weights.output);
  const DecoderConfig& config = weights.config;
  if (weights.position_embedding != nullptr) {
    position_embedding = source.get(*weights.position_embedding);
  } else {
    frequencies = at::tensor(config.rotary.frequencies(config.head_width), at::TensorOptions(at::kFloat));
  }
  for (std::size_t layer = 0; layer < config.layers; ++layer) {
    layers.emplace_back(source, weights.layers[layer], config.norm_eps, config.windows[layer]);
  }
}

at::Tensor DecoderTensors::embed(std::span<const std::int64_t> ids, std::size_t begin) const {
  const at::Tensor indices =
      at::tensor(at::ArrayRef<std::int64_t>(ids.data(), ids.size()), at::TensorOptions(at::kLong));
  const at::Tensor x = at::embedding(word_embedding, indices);
  if (!position_embedding.defined()) return x;
  return x + position_embedding.narrow(0, to_signed(begin), to_signed(ids.size()));
}

Rotation DecoderTensors::rotation(std::size_t begin, std::size_t count) const {
  Rotation rotation;
  if (!frequencies.defined()) return rotation;
  const at::Tensor positions = at::arange(to_signed(begin), to_signed(begin + count), at::TensorOptions(at::kFloat));
  const at::Tensor angles = positions.view({-1, 1, 1}) * frequencies;
  rotation.cos = at::cos(angles);
  rotation.sin = at::sin(angles);
  return rotation;
}

}  // namespace attnflow::internal
