#include "attnflow/model/torch/encoder_tensors.h"

namespace attnflow::internal {

namespace {

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

EncoderTensors::EncoderTensors(TensorSource& source, const ModelWeights& weights)
    : config(weights.config),
      word_embedding(source.find(weights.word_embedding)),
      position_embedding(source.find(weights.position_embedding)),
      token_type_embedding(source.find(weights.token_type_embedding)),
      embedding_norm(source, weights.embedding_norm, config.norm_eps),
      embedding_projection(source, weights.embedding_projection),
      distance_bias(source.find(weights.distance_bias)),
      final_norm(source, weights.final_norm, config.norm_eps),
      head_activation(weights.head.activation),
      head_dense(source, weights.head.dense),
      head_norm(source, weights.head.norm, config.norm_eps),
      head_output(source, weights.head.output),
      head_second(source, weights.head.second) {
  if (weights.image) image.emplace(source, *weights.image);
  const LayerForm form(config);
  at::Tensor distances;
  if (weights.distance_embedding != nullptr) {
    distances = Norm(source, weights.distance_norm, config.norm_eps)(source.get(*weights.distance_embedding));
  }
  for (const LayerWeights& weights_of_layer : weights.layers) {
    TransformerLayer& layer = layers.emplace_back(source, weights_of_layer, form);
    if (!distances.defined()) continue;
    const auto by_head = [&](const Linear& own, const Linear& of_tokens) {
      const Linear& map = own.weight.defined() ? own : of_tokens;
      return at::linear(distances, map.weight, map.bias).view({-1, form.heads, form.head_width});
    };
    layer.form.distances = {by_head(layer.distance_key, layer.key),
                            by_head(layer.distance_query, layer.query) * form.score_factor};
  }
}

}  // namespace attnflow::internal
