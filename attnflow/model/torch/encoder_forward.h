// Runs the encoder of architecture.h, from a batch to logits, with either policy of transformer_layer.h.
//
// Shapes: B sequences of T tokens; E is the width of the embeddings, H the hidden size.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "attnflow/model/torch/encoder_positions.h"
#include "attnflow/model/torch/image_embedding.h"
#include "attnflow/model/torch/model_tensors.h"
#include "attnflow/model/torch/padded_batch.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

// Keeps references to both arguments.
template <typename Ops>
class EncoderForward {
 public:
  EncoderForward(const ModelTensors& tensors, Ops& ops) : tensors_(tensors), ops_(ops) {}

  // Returns the embedding module's output, after its norm if any: [B, T, E]. Layers then run on this batch.
  at::Tensor embed(const PaddedBatch& batch) {
    if (batch.pixels.defined()) return embed_pictures(batch.pixels);
    const std::int64_t tokens = batch.ids.size(1);
    places_ = TokenPlaces(tensors_, tokens);
    tensors_.turn(ops_, 0, static_cast<std::size_t>(tokens));
    padding_ = batch.padding;
    at::Tensor x = tensors_.word_embedding.rows(batch.ids);
    if (const at::Tensor& types = tensors_.token_type_embedding; types.defined()) {
      const bool given = batch.type_ids.defined() && tensors_.config.token_types > 1;
      x = x + (given ? at::embedding(types, batch.type_ids) : types[0]);
    }
    if (const at::Tensor& positions = tensors_.position_embedding; positions.defined()) {
      x = x + at::embedding(positions, batch.position_ids);
    }
    return tensors_.embedding_norm(x);
  }

  // Converts embeddings to the last hidden states [B, T, H]: project(), every layer, finish().
  at::Tensor encode(at::Tensor embedding) const {
    at::Tensor x = project(ops_.dropped(std::move(embedding)));
    for (std::size_t index = 0; index < tensors_.config.layers; ++index) x = layer(index, std::move(x));
    return finish(x);
  }
  // Returns the first layer's input: the embeddings themselves if there is no projection.
  at::Tensor project(at::Tensor embedding) const {
    const Linear& map = tensors_.embedding_projection;
    return map.weight.defined() ? ops_.linear(map, embedding) : embedding;
  }
  at::Tensor layer(std::size_t index, at::Tensor x) const {
    const LayerStore::Layer one = tensors_.layer(index);
    ops_.score_bias = tensors_.config.windows[index] != 0 ? places_.window : places_.distance_scores;
    ops_.distance_buckets = places_.distance_buckets;
    if (one->patch_distances.defined()) ops_.score_bias = places_.patch_distances(one->patch_distances);
    return run_layer(ops_, *one, index, std::move(x));
  }
  at::Tensor finish(const at::Tensor& x) const { return ops_.normed(tensors_.final_norm, x); }

  // Classification head: [B, classes]. `padding` is that of embed()'s batch; undefined: none.
  at::Tensor classify(const at::Tensor& hidden, const at::Tensor& padding = {}) const {
    const ClassifierInput input = tensors_.config.classifier_input;
    at::Tensor x = hidden.select(1, 0);
    if (input == ClassifierInput::kTokens) {
      x = mean_of_tokens(hidden, padding);
    } else if (input != ClassifierInput::kFirstToken) {
      const std::int64_t leading = to_signed(tensors_.config.image->leading.size());
      const at::Tensor patches = hidden.narrow(1, leading, hidden.size(1) - leading).mean(1);
      x = input == ClassifierInput::kPatches ? patches : at::cat({x, patches}, 1);
    }
    const at::Tensor logits = tensors_.products(ops_, transformed(x));
    if (!tensors_.second_output.weight.defined()) return logits;
    return (logits + ops_.linear(tensors_.second_output, hidden.select(1, 1))) / 2;
  }
  // The embeddings of texts: [B, H].
  at::Tensor pool(const at::Tensor& hidden, Pooling pooling, const at::Tensor& padding = {}) const {
    return pooling == Pooling::kMean ? mean_of_tokens(hidden, padding) : hidden.select(1, 0);
  }
  // Token head at `positions`, given as row * T + position: [positions, vocabulary or classes].
  at::Tensor predict_tokens(const at::Tensor& hidden, const at::Tensor& positions) const {
    const at::Tensor chosen = at::index_select(hidden.reshape({-1, hidden.size(2)}), 0, positions);
    return tensors_.products(ops_, transformed(chosen));
  }
  // For one sequence, [1, n, hidden]: logits for an answer beginning at each token and for one ending there, [2, n].
  at::Tensor predict_answers(const at::Tensor& hidden) const {
    return tensors_.products(ops_, transformed(hidden[0])).t().contiguous();
  }

  // In the form of PaddedBatch.
  const at::Tensor& padding() const { return padding_; }

 private:
  at::Tensor transformed(at::Tensor x) const {
    if (tensors_.head_dense.weight.defined()) x = ops_.activated(tensors_.head_dense, x, tensors_.head_activation);
    return ops_.normed(tensors_.head_norm, x);
  }

  static at::Tensor mean_of_tokens(const at::Tensor& hidden, const at::Tensor& padding) {
    if (!padding.defined()) return hidden.mean(1);
    const at::Tensor counts = (padding == 0).to(at::kFloat).view({hidden.size(0), -1, 1});
    return (hidden * counts).sum(1) / counts.sum(1);
  }

  at::Tensor embed_pictures(const at::Tensor& pixels) {
    const ImageInfo& image = *tensors_.config.image;
    const at::Tensor patches = ops_.linear(patch_map(*tensors_.image), cut_patches(image, pixels));
    const std::int64_t rows = pixels.size(2) / to_signed(image.patch_height);
    const std::int64_t columns = pixels.size(3) / to_signed(image.patch_width);
    places_ = TokenPlaces(tensors_, rows, columns);
    ops_.rotation = rotation_of_patches(tensors_, rows, columns);
    return tensors_.embedding_norm(join_tokens(tensors_.config, *tensors_.image, patches, rows, columns));
  }

  const ModelTensors& tensors_;
  Ops& ops_;
  TokenPlaces places_;
  at::Tensor padding_;
};

}  // namespace attnflow::internal
