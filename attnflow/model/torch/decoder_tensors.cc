#include "attnflow/model/torch/decoder_tensors.h"

namespace attnflow::internal {

DecoderTensors::DecoderTensors(TensorSource& source, const DecoderWeights& weights)
    : config(weights.config),
      word_embedding(source.get(*weights.word_embedding)),
      position_embedding(source.find(weights.position_embedding)),
      final_norm(source, weights.final_norm, config.norm_eps, has_plus_one()) {
  if (weights.output.weight != nullptr) output = Linear(source, weights.output);
  if (!position_embedding.defined()) {
    frequencies = at::tensor(config.rotary.frequencies(config.rotary_width), at::TensorOptions(at::kFloat));
  }
  LayerForm form;
  form.activation = config.activation;
  form.norm_eps = config.norm_eps;
  form.norm_plus_one = has_plus_one();
  form.score_factor = config.score_factor;
  form.residual_factor = config.residual_factor;
  form.heads = to_signed(config.heads);
  form.key_value_heads = to_signed(config.key_value_heads);
  form.head_width = to_signed(config.head_width);
  for (std::size_t layer = 0; layer < config.layers; ++layer) {
    form.window = to_signed(config.windows[layer]);
    form.rotary = config.rotary_layers[layer];
    layers.emplace_back(source, weights.layers[layer], form);
  }
}

at::Tensor DecoderTensors::embed(std::span<const std::int64_t> ids, std::size_t begin) const {
  const at::Tensor indices =
      at::tensor(at::ArrayRef<std::int64_t>(ids.data(), ids.size()), at::TensorOptions(at::kLong));
  at::Tensor x = at::embedding(word_embedding, indices).unsqueeze(0);
  if (config.embedding_factor != 1.0) x = x * config.embedding_factor;
  if (!position_embedding.defined()) return x;
  const std::size_t first = config.architecture->position_offset + begin;
  return x + position_embedding.narrow(0, to_signed(first), to_signed(ids.size()));
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
