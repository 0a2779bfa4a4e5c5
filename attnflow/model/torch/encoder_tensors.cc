#include "attnflow/model/torch/encoder_tensors.h"

#include <cmath>

namespace attnflow::internal {

namespace {

// [count, hidden] or [hidden] as of a batch of one.
at::Tensor batched(const at::Tensor& tokens) {
  if (!tokens.defined() || tokens.dim() == 3) return tokens;
  return tokens.view({1, -1, tokens.size(-1)});
}

}  // namespace

ImageTensors::ImageTensors(TensorSource& source, const ImageWeights& weights)
    : class_token(batched(source.find(weights.class_token))),
      distillation_token(source.find(weights.distillation_token)),
      register_tokens(source.find(weights.register_tokens)),
      patches(source, weights.patches),
      position(batched(source.find(weights.position))) {}

EncoderTensors::EncoderTensors(TensorSource& source, const EncoderWeights& weights)
    : config(weights.config),
      word_embedding(source.find(weights.word_embedding)),
      position_embedding(source.find(weights.position_embedding)),
      token_type_embedding(source.find(weights.token_type_embedding)),
      distance_bias(source.find(weights.distance_bias)) {
  const double eps = config.norm_eps;
  if (weights.image) image.emplace(source, *weights.image);
  if (weights.embedding_norm) embedding_norm.emplace(source, *weights.embedding_norm, eps);
  if (weights.embedding_projection) embedding_projection.emplace(source, *weights.embedding_projection);
  LayerForm form;
  form.norm_place = config.architecture->norm_place;
  form.activation = config.activation;
  form.norm_eps = eps;
  form.heads = form.key_value_heads = to_signed(config.heads);
  form.head_width = to_signed(config.hidden / config.heads);
  at::Tensor distances;
  if (weights.distance_embedding != nullptr) {
    distances = source.get(*weights.distance_embedding);
    if (weights.distance_norm) distances = Norm(source, *weights.distance_norm, eps)(distances);
    form.score_factor = 1.0 / std::sqrt(3.0 * static_cast<double>(form.head_width));
  }
  for (const LayerWeights& weights_of_layer : weights.layers) {
    TransformerLayer& layer = layers.emplace_back(source, weights_of_layer, form);
    if (!distances.defined()) continue;
    const auto by_head = [&](const LinearWeights& own, const Linear& of_tokens) {
      const Linear map = own.weight == nullptr ? of_tokens : Linear(source, own);
      return at::linear(distances, map.weight, map.bias).view({-1, form.heads, form.head_width});
    };
    layer.form.distances = {by_head(weights_of_layer.distance_key, layer.key),
                            by_head(weights_of_layer.distance_query, layer.query) * form.of_scores()};
  }
  if (weights.final_norm) final_norm.emplace(source, *weights.final_norm, eps);

  if (weights.masked_lm) {
    head_activation = weights.masked_lm->activation;
    head_dense = Linear(source, weights.masked_lm->dense);
    head_norm = Norm(source, weights.masked_lm->norm, eps);
    head_output = Linear(source, weights.masked_lm->decoder);
  } else if (weights.classifier) {
    head_activation = weights.classifier->activation;
    if (weights.classifier->dense) head_dense = Linear(source, *weights.classifier->dense);
    if (weights.classifier->norm) head_norm = Norm(source, *weights.classifier->norm, eps);
    head_output = Linear(source, weights.classifier->output);
    if (weights.classifier->second) head_second = Linear(source, *weights.classifier->second);
  }
}

}  // namespace attnflow::internal
