// A decoder's weights as libtorch tensors.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "attnflow/base/progress.h"
#include "attnflow/model/decoder_weights.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

struct DecoderTensors {
  DecoderTensors(TensorSource& source, const DecoderWeights& weights);

  // Returns the input of the first layer for tokens at positions from `begin` on: [1, n, hidden].
  at::Tensor embed(std::span<const std::int64_t> ids, std::size_t begin) const;
  template <typename Ops>
  void turn(Ops& ops, std::size_t begin, std::size_t count) const {
    ops.rotation = rotation(config.rotary, frequencies, begin, count);
    ops.local_rotation = rotation(config.local_rotary, local_frequencies, begin, count);
  }
  std::vector<LayerForm> forms() const;
  at::Device device() const { return word_embedding.device(); }
  template <typename Ops>
  at::Tensor run_layers(Ops& ops, at::Tensor x, const std::stop_token& stop) const {
    for (std::size_t index = 0; index < config.layers; ++index) {
      if (stop.stop_requested()) throw Cancelled();
      x = run_layer(ops, layers[index], index, std::move(x));
    }
    return x;
  }
  // Converts the last layer's output, [.., hidden], to logits [.., vocabulary or classes].
  template <typename Ops>
  at::Tensor logits(const Ops& ops, const at::Tensor& hidden) const {
    at::Tensor logits = ops.linear(output, ops.normed(final_norm, hidden));
    if (config.logit_factor != 1.0) logits = logits * config.logit_factor;
    return config.logit_cap > 0.0 ? ops.capped(logits, config.logit_cap) : logits;
  }
  bool has_plus_one() const { return config.architecture->norm == NormKind::kRmsPlusOne; }

  DecoderConfig config;
  at::Tensor word_embedding;
  at::Tensor position_embedding;  // undefined: none is learned
  at::Tensor distance_bias;       // [buckets, heads], or undefined
  Norm embedding_norm;            // of embeddings; without a scale: none
  at::Tensor frequencies;         // [rotary_width / 2], undefined: no rotary embedding
  at::Tensor local_frequencies;   // for layers with a window, if they have their own
  std::vector<TransformerLayer> layers;
  Norm final_norm;  // without a scale: none
  Linear output;    // to the vocabulary or classes; without a weight: a base model, which has no logits

 private:
  // [n, hidden], added to word embeddings at positions from `begin` on; undefined: none.
  at::Tensor positions(std::size_t begin, std::size_t count) const;
  RotaryUse rotary_use(std::size_t layer) const;
  Rotation rotation(const RotaryConfig& rotary, const at::Tensor& of_frequencies, std::size_t begin,
                    std::size_t count) const;
};

}  // namespace attnflow::internal
