#include "attnflow/model/torch/decoder_tensors.h"

#include <cmath>

namespace attnflow::internal {

DecoderTensors::DecoderTensors(TensorSource& source, const DecoderWeights& weights)
    : config(weights.config),
      word_embedding(source.get(*weights.word_embedding)),
      position_embedding(source.find(weights.position_embedding)),
      distance_bias(source.find(weights.distance_bias)),
      embedding_norm(source, weights.embedding_norm, config.norm_eps, has_plus_one()),
      final_norm(source, weights.final_norm, config.norm_eps, has_plus_one()),
      output(source, weights.output) {
  if (config.position_kind == PositionKind::kRotary) {
    const at::TensorOptions options(at::kFloat);
    frequencies = at::tensor(config.rotary.frequencies(config.rotary_width), options).to(device());
    if (!config.architecture->keys.local_rotary_theta.empty()) {
      local_frequencies = at::tensor(config.local_rotary.frequencies(config.rotary_width), options).to(device());
    }
  }
  LayerForm form;
  form.norm_place = config.architecture->norm_place;
  form.activation = config.activation;
  form.norm_eps = config.norm_eps;
  form.norm_plus_one = has_plus_one();
  form.score_factor = config.score_factor;
  form.residual_factor = config.residual_factor;
  form.score_cap = config.score_cap;
  form.parallel = config.parallel;
  form.heads = to_signed(config.heads);
  form.key_value_heads = to_signed(config.key_value_heads);
  form.head_width = to_signed(config.head_width);
  if (config.position_kind == PositionKind::kAlibi) {
    const bool scaled = config.architecture->scaled_alibi;
    form.slopes.of_heads = at::tensor(alibi_slopes(config.heads), at::TensorOptions(at::kFloat)).to(device());
    if (scaled) form.slopes = {form.slopes.of_heads.to(at::kBFloat16), config.score_factor};
  }
  for (std::size_t layer = 0; layer < config.layers; ++layer) {
    form.window = to_signed(config.windows[layer]);
    form.rotary = rotary_use(layer);
    layers.emplace_back(source, weights.layers[layer], form);
  }
}

at::Tensor DecoderTensors::embed(std::span<const std::int64_t> ids, std::size_t begin) const {
  const at::Tensor indices =
      at::tensor(at::ArrayRef<std::int64_t>(ids.data(), ids.size()), at::TensorOptions(at::kLong)).to(device());
  at::Tensor x = at::embedding(word_embedding, indices).unsqueeze(0);
  const bool of_sum = config.architecture->norm_of_sum;
  if (!of_sum) x = embedding_norm(x);
  if (config.embedding_factor != 1.0) x = x * config.embedding_factor;
  if (const at::Tensor added = positions(begin, ids.size()); added.defined()) x = x + added;
  return of_sum ? embedding_norm(x) : x;
}

at::Tensor DecoderTensors::positions(std::size_t begin, std::size_t count) const {
  const auto first = to_signed(config.position_offset + begin);
  if (position_embedding.defined()) return position_embedding.narrow(0, first, to_signed(count));
  const PositionKind kind = config.position_kind;
  if (kind != PositionKind::kSinusoidal && kind != PositionKind::kSinusoidalClosed) return {};
  constexpr double kBase = 10000.0;
  const std::int64_t half = to_signed(config.hidden / 2);
  const double steps = static_cast<double>(kind == PositionKind::kSinusoidal ? half : half - 1);
  const at::TensorOptions exact =
      at::TensorOptions(at::kDouble).device(device());  // rounded once, like transformers' tables
  const at::Tensor turns = at::exp(at::arange(half, exact) * (-std::log(kBase) / steps));
  const at::Tensor angles = at::arange(first, first + to_signed(count), exact).view({-1, 1}) * turns;
  return at::cat({at::sin(angles), at::cos(angles)}, 1).to(at::kFloat);
}

RotaryUse DecoderTensors::rotary_use(std::size_t layer) const {
  if (!config.rotary_layers[layer]) return RotaryUse::kNone;
  return config.windows[layer] != 0 && local_frequencies.defined() ? RotaryUse::kLocal : RotaryUse::kUsual;
}

std::vector<LayerForm> DecoderTensors::forms() const {
  std::vector<LayerForm> forms;
  for (const TransformerLayer& layer : layers) forms.push_back(layer.form);
  return forms;
}

Rotation DecoderTensors::rotation(const RotaryConfig& rotary, const at::Tensor& of_frequencies, std::size_t begin,
                                  std::size_t count) const {
  Rotation rotation;
  if (!of_frequencies.defined()) return rotation;
  rotation.neighbors = config.architecture->rotary_neighbors;
  const at::Tensor positions = at::arange(to_signed(begin), to_signed(begin + count), of_frequencies.options());
  const at::Tensor angles = positions.view({-1, 1, 1}) * of_frequencies;
  rotation.cos = at::cos(angles) * rotary.amplitude;
  rotation.sin = at::sin(angles) * rotary.amplitude;
  return rotation;
}

}  // namespace attnflow::internal
