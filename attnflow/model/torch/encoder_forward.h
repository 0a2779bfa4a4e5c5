// The encoder of architecture.h, from a batch to logits, by either policy of transformer_layer.h.
//
// Shapes: B sequences of T tokens; E the width of the embeddings, H the hidden size.
#ifndef ATTNFLOW_MODEL_TORCH_ENCODER_FORWARD_H_
#define ATTNFLOW_MODEL_TORCH_ENCODER_FORWARD_H_

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "attnflow/model/torch/encoder_tensors.h"
#include "attnflow/model/torch/image_embedding.h"
#include "attnflow/model/torch/padded_batch.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

// Keeps references to both.
template <typename Ops>
class EncoderForward {
 public:
  EncoderForward(const EncoderTensors& tensors, Ops& ops) : tensors_(tensors), ops_(ops) {}

  // What the embedding module gives, after its norm where it has one: [B, T, E].
  at::Tensor embed(const PaddedBatch& batch) const {
    if (batch.pixels.defined()) return embed_pictures(batch.pixels);
    at::Tensor x = at::embedding(tensors_.word_embedding, batch.ids);
    if (const at::Tensor& types = tensors_.token_type_embedding; types.defined()) {
      const bool given = batch.type_ids.defined() && tensors_.config.token_types > 1;
      x = x + (given ? at::embedding(types, batch.type_ids) : types[0]);
    }
    x = x + at::embedding(tensors_.position_embedding, batch.position_ids);
    return tensors_.embedding_norm ? (*tensors_.embedding_norm)(x) : x;
  }

  // The last hidden states [B, T, H] of embeddings: project(), every layer, finish().
  at::Tensor encode(at::Tensor embedding) const {
    at::Tensor x = project(ops_.dropped(std::move(embedding)));
    for (std::size_t index = 0; index < tensors_.config.layers; ++index) x = layer(index, std::move(x));
    return finish(x);
  }
  // What the first layer is given, of embeddings; those themselves where they are not projected.
  at::Tensor project(at::Tensor embedding) const {
    return tensors_.embedding_projection ? ops_.linear(*tensors_.embedding_projection, embedding) : embedding;
  }
  at::Tensor layer(std::size_t index, at::Tensor x) const {
    return run_layer(ops_, tensors_.layer(index), index, std::move(x));
  }
  // What follows the last layer.
  at::Tensor finish(const at::Tensor& x) const {
    return tensors_.final_norm ? ops_.normed(*tensors_.final_norm, x) : x;
  }

  // Classification head: [B, classes].
  at::Tensor classify(const at::Tensor& hidden) const {
    at::Tensor x = hidden.select(1, 0);
    if (tensors_.config.architecture->classifier.input == ClassifierInput::kFirstTokenAndPatches) {
      const std::int64_t leading = to_signed(tensors_.config.image->leading.size());
      x = at::cat({x, hidden.narrow(1, leading, hidden.size(1) - leading).mean(1)}, 1);
    }
    if (tensors_.head_dense.weight.defined()) x = ops_.activated(tensors_.head_dense, x, tensors_.head_activation);
    const at::Tensor logits = ops_.linear(tensors_.head_output, x);
    if (!tensors_.head_second.weight.defined()) return logits;
    return (logits + ops_.linear(tensors_.head_second, hidden.select(1, 1))) / 2;
  }
  // Masked-LM head at `positions`, numbers row * T + position: [positions, vocabulary].
  at::Tensor predict_tokens(const at::Tensor& hidden, const at::Tensor& positions) const {
    const at::Tensor chosen = at::index_select(hidden.reshape({-1, hidden.size(2)}), 0, positions);
    const at::Tensor dense = ops_.activated(tensors_.head_dense, chosen, tensors_.head_activation);
    return ops_.linear(tensors_.head_output, ops_.normed(tensors_.head_norm, dense));
  }

 private:
  at::Tensor embed_pictures(const at::Tensor& pixels) const {
    const ImageInfo& image = *tensors_.config.image;
    const at::Tensor patches = ops_.linear(patch_map(*tensors_.image), cut_patches(image, pixels));
    return join_tokens(tensors_.config, *tensors_.image, patches, pixels.size(2) / to_signed(image.patch_height),
                       pixels.size(3) / to_signed(image.patch_width));
  }

  const EncoderTensors& tensors_;
  Ops& ops_;
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_ENCODER_FORWARD_H_
