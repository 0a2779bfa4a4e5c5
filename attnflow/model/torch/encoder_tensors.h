// An encoder's weights as libtorch tensors.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "attnflow/model/model_weights.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

struct ImageTensors {
  ImageTensors(TensorSource& source, const ImageWeights& weights);

  at::Tensor class_token;         // [1, 1, hidden], or undefined
  at::Tensor distillation_token;  // [1, 1, hidden], or undefined
  at::Tensor register_tokens;     // [1, registers, hidden], or undefined
  Linear patches;                 // weight [hidden, channels, patch height, patch width]
  at::Tensor position;            // [1, positions, hidden], or undefined
};

struct EncoderTensors {
  EncoderTensors(TensorSource& source, const ModelWeights& weights);

  const TransformerLayer& layer(std::size_t index) const { return layers[config.stored_layer(index)]; }

  ModelConfig config;
  std::optional<ImageTensors> image;  // set for an image model; the tables below are then undefined
  at::Tensor word_embedding;
  at::Tensor position_embedding;    // undefined if there is none
  at::Tensor token_type_embedding;  // undefined if there is none
  Norm embedding_norm;              // as for all below: without a scale, or a weight, there is none
  Linear embedding_projection;
  at::Tensor distance_bias;              // [buckets, heads]; undefined: none
  std::vector<TransformerLayer> layers;  // as stored
  Norm final_norm;

  // Masked language model: dense, activation, norm, output. Classification: dense and activation if there is a dense,
  // norm if any, output; if there is a second output, the mean of both.
  Activation head_activation = Activation::kTanh;
  Linear head_dense;
  Norm head_norm;
  Linear head_output;
  Linear head_second;
};

}  // namespace attnflow::internal
