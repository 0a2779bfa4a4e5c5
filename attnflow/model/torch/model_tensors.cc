#include "attnflow/model/torch/model_tensors.h"

#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "attnflow/model/torch/layered_gradients.h"

namespace attnflow::internal {

namespace {

constexpr std::size_t kTileBytes = std::size_t{48} << 20U;  // of a table that is read by rows

at::Tensor indices_of(std::span<const std::int64_t> ids, at::Device device) {
  return at::tensor(at::ArrayRef<std::int64_t>(ids.data(), ids.size()), at::TensorOptions(at::kLong)).to(device);
}

at::Tensor batched(const at::Tensor& tokens) {
  if (!tokens.defined() || tokens.dim() == 3) return tokens;
  return tokens.view({1, -1, tokens.size(-1)});
}

// [2 span, hidden], or undefined.
at::Tensor distance_embeddings(TensorSource& source, const ModelWeights& weights) {
  if (weights.distance_embedding == nullptr) return {};
  return Norm(source, weights.distance_norm, weights.config.norm_eps)(source.get(*weights.distance_embedding));
}

void add_distances(const at::Tensor& embeddings, TransformerLayer& layer) {
  if (!embeddings.defined()) return;
  LayerForm& form = layer.form;
  const auto by_head = [&](const Linear& own, const Linear& of_tokens) {
    const Linear& map = own.weight.defined() ? own : of_tokens;
    return at::linear(embeddings, map.weight, map.bias).view({-1, form.heads, form.head_width});
  };
  form.distances = {by_head(layer.distance_key, layer.key),
                    by_head(layer.distance_query, layer.query) * form.score_factor};
}

// The same target among the chosen rows, which are those of its label and its other labels.
ScoreTarget among_chosen(ScoreTarget target) {
  target.label = 0;
  std::iota(target.others.begin(), target.others.end(), std::size_t{1});
  return target;
}

}  // namespace

RowTable::RowTable(TensorSource& source, const StoredTensor* stored, bool whole) : stored_(stored) {
  if (stored == nullptr) return;
  if (whole || lies_in_place(*stored)) {
    all_ = source.get(*stored);
    return;
  }
  source_ = source.fresh();
  tile_ = std::max(kTileBytes / (stored->shape.back() * sizeof(float)), std::size_t{1});
}

at::Tensor RowTable::rows(const at::Tensor& indices) const {
  if (all_.defined()) return at::embedding(all_, indices);
  const at::Tensor host = indices.to(at::kCPU);
  const std::span<const std::int64_t> ids(host.data_ptr<std::int64_t>(), static_cast<std::size_t>(host.numel()));
  std::vector<at::Tensor> found;
  for (const std::int64_t id : ids) found.push_back(source_->rows(*stored_, static_cast<std::size_t>(id), 1));
  return at::cat(found);
}

ImageTensors::ImageTensors(TensorSource& source, const ImageWeights& weights)
    : class_token(batched(source.find(weights.class_token))),
      distillation_token(source.find(weights.distillation_token)),
      register_tokens(source.find(weights.register_tokens)),
      patches(source, weights.patches),
      position(batched(source.find(weights.position))) {}

ModelTensors::ModelTensors(TensorSource& source, const ModelWeights& weights, Keep keep)
    : config(weights.config),
      device(source.device()),
      word_embedding(source, weights.word_embedding, keep == Keep::kAll),
      position_embedding(source.find(weights.position_embedding)),
      token_type_embedding(source.find(weights.token_type_embedding)),
      embedding_norm(source, weights.embedding_norm, config.norm_eps),
      embedding_projection(source, weights.embedding_projection),
      distance_bias(source.find(weights.distance_bias)),
      frequencies(frequencies_of(config.rotary)),
      local_frequencies(config.architecture->keys.local_rotary_theta.empty() ? at::Tensor()
                                                                             : frequencies_of(config.local_rotary)),
      forms(make_forms(source, weights)),
      layers(
          weights.layers.size(),
          [all = &source, whole = keep == Keep::kAll, own = source.for_passing_layers(), parts = weights.layers,
           layer_forms = forms, distances = distance_embeddings(source, weights)](std::size_t index) {
            TensorSource once = own;
            TransformerLayer layer(whole ? *all : once, parts[index], layer_forms[index]);
            add_distances(distances, layer);
            return layer;
          },
          keep == Keep::kAll),
      final_norm(source, weights.final_norm, config.norm_eps),
      head_activation(weights.head.activation),
      head_dense(source, weights.head.dense),
      head_norm(source, weights.head.norm, config.norm_eps),
      output(source, weights.head.output.weight, keep == Keep::kAll),
      output_bias(source.find(weights.head.output.bias)),
      second_output(source, weights.head.second) {
  if (weights.image) image.emplace(source, *weights.image);
  if (output_bias.defined()) output_bias = output_bias.flatten();  // BART stores it as [1, out]
}

at::Tensor ModelTensors::frequencies_of(const RotaryConfig& rotary) const {
  if (config.position_kind != PositionKind::kRotary) return {};
  return at::tensor(rotary.frequencies(config.rotary_width), at::TensorOptions(at::kFloat)).to(device);
}

std::vector<LayerForm> ModelTensors::make_forms(TensorSource& source, const ModelWeights& weights) const {
  LayerForm form(config);
  if (config.position_kind == PositionKind::kAlibi) {
    const bool scaled = config.architecture->scaled_alibi;
    form.slopes.of_heads = at::tensor(alibi_slopes(config.heads), at::TensorOptions(at::kFloat)).to(device);
    if (scaled) form.slopes = {form.slopes.of_heads.to(at::kBFloat16), config.score_factor};
  }
  std::vector<LayerForm> all;
  for (std::size_t layer = 0; layer < weights.layers.size(); ++layer) {
    form.window = to_signed(config.windows[layer]);
    form.rotary = rotary_use(layer);
    form.sinks = source.find(weights.layers[layer].sinks);
    all.push_back(form);
  }
  return all;
}

at::Tensor ModelTensors::value(const AutogradOps& ops, const ScoreTarget& target, const at::Tensor& hidden) const {
  const at::Tensor x = ops.normed(final_norm, hidden.unsqueeze(0));
  const at::Tensor fixed = x.detach();
  const bool of_all = target.kind != ScoreTarget::Kind::kLogit && target.kind != ScoreTarget::Kind::kLogitDifference;
  at::Tensor chosen;    // the rows that count, if not all
  at::Tensor products;  // of these rows, or all
  if (of_all) {
    std::vector<at::Tensor> parts;
    output.tiles([&](std::int64_t /*begin*/, const at::Tensor& tile) { parts.push_back(at::linear(fixed, tile)); });
    products = at::cat(parts, -1);
    if (output_bias.defined()) products = products + output_bias;
  } else {
    std::vector<std::int64_t> ids = {static_cast<std::int64_t>(target.label)};
    ids.insert(ids.end(), target.others.begin(), target.others.end());
    const at::Tensor labels = indices_of(ids, device);
    chosen = output.rows(labels);
    products = at::linear(fixed, chosen);
    if (output_bias.defined()) products = products + output_bias.index_select(0, labels);
  }
  // The number as a function of the products, then of x: the gradient of x is that of the products times the matrix.
  const at::Tensor leaf = products.detach().requires_grad_(true);
  const at::Tensor number = value_of(of_all ? target : among_chosen(target), finished(ops, leaf)[0]);
  const at::Tensor slopes = torch::autograd::grad({number}, {leaf}).front();
  at::Tensor gradient = at::zeros_like(fixed);
  if (of_all) {
    output.tiles([&](std::int64_t begin, const at::Tensor& tile) {
      gradient += at::matmul(slopes.narrow(1, begin, tile.size(0)), tile);
    });
  } else {
    gradient = at::matmul(slopes, chosen);
  }
  const at::Tensor linear = (x * gradient).sum();
  return number.detach() + (linear - linear.detach());
}

at::Tensor ModelTensors::embed(std::span<const std::int64_t> ids, std::size_t begin) const {
  at::Tensor x = word_embedding.rows(indices_of(ids, device)).unsqueeze(0);
  const bool of_sum = config.architecture->norm_of_sum;
  if (!of_sum) x = embedding_norm(x);
  if (config.embedding_factor != 1.0) x = x * config.embedding_factor;
  if (const at::Tensor added = positions(begin, ids.size()); added.defined()) x = x + added;
  return of_sum ? embedding_norm(x) : x;
}

at::Tensor ModelTensors::positions(std::size_t begin, std::size_t count) const {
  const auto first = to_signed(config.position_offset + begin);
  if (position_embedding.defined()) return position_embedding.narrow(0, first, to_signed(count));
  const PositionKind kind = config.position_kind;
  if (kind != PositionKind::kSinusoidal && kind != PositionKind::kSinusoidalClosed) return {};
  constexpr double kBase = 10000.0;
  const std::int64_t half = to_signed(config.hidden / 2);
  const double steps = static_cast<double>(kind == PositionKind::kSinusoidal ? half : half - 1);
  const at::TensorOptions exact =
      at::TensorOptions(at::kDouble).device(device);  // rounded once, like transformers' tables
  const at::Tensor turns = at::exp(at::arange(half, exact) * (-std::log(kBase) / steps));
  const at::Tensor angles = at::arange(first, first + to_signed(count), exact).view({-1, 1}) * turns;
  return at::cat({at::sin(angles), at::cos(angles)}, 1).to(at::kFloat);
}

RotaryUse ModelTensors::rotary_use(std::size_t layer) const {
  if (!config.rotary_layers[layer]) return RotaryUse::kNone;
  return config.windows[layer] != 0 && local_frequencies.defined() ? RotaryUse::kLocal : RotaryUse::kUsual;
}

Rotation ModelTensors::rotation(const RotaryConfig& rotary, const at::Tensor& of_frequencies, std::size_t begin,
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
