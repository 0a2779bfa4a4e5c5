// The weights of a stack as libtorch tensors: an encoder, a decoder, or either half of an encoder-decoder.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "attnflow/base/progress.h"
#include "attnflow/model/model_weights.h"
#include "attnflow/model/torch/autograd_ops.h"
#include "attnflow/model/torch/layer_store.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

// A stored matrix [rows, width], in memory as a whole or read a few rows at a time.
class RowTable {
 public:
  RowTable() = default;
  RowTable(TensorSource& source, const StoredTensor* stored, bool whole);

  bool defined() const { return stored_ != nullptr; }
  at::Tensor rows(const at::Tensor& indices) const;  // [n, width]
  // Calls take(begin, tile [count, width]) for all rows, in order.
  template <typename Take>
  void tiles(const Take& take) const {
    if (all_.defined()) {
      take(std::int64_t{0}, all_);
      return;
    }
    const std::size_t count = stored_->shape.front();
    for (std::size_t begin = 0; begin < count; begin += tile_) {
      take(to_signed(begin), source_->rows(*stored_, begin, std::min(tile_, count - begin)));
    }
  }

 private:
  const StoredTensor* stored_ = nullptr;
  at::Tensor all_;                      // undefined: read by rows
  std::optional<TensorSource> source_;  // to read with
  std::size_t tile_ = 1;                // rows
};

struct ImageTensors {
  ImageTensors(TensorSource& source, const ImageWeights& weights);

  at::Tensor class_token;         // [1, 1, hidden], or undefined
  at::Tensor distillation_token;  // [1, 1, hidden], or undefined
  at::Tensor register_tokens;     // [1, registers, hidden], or undefined
  Linear patches;                 // weight [hidden, channels, patch height, patch width]
  at::Tensor position;            // [1, positions, hidden], or undefined
};

struct ModelTensors {
  // Keep::kFew: layers, embedding and output are made from their stored form when they are used (layer_store.h).
  enum class Keep { kAll, kFew };
  ModelTensors(TensorSource& source, const ModelWeights& weights, Keep keep = Keep::kAll);

  // Layer `index`, from 0, of those that run; the one after it will be asked for next.
  LayerStore::Layer layer(std::size_t index) const {
    return layers.get(config.stored_layer(index), config.stored_layer(index + 1));
  }
  // Returns the input of a decoder's first layer for tokens at positions from `begin` on: [1, n, hidden].
  at::Tensor embed(std::span<const std::int64_t> ids, std::size_t begin) const;
  template <typename Ops>
  void turn(Ops& ops, std::size_t begin, std::size_t count) const {
    ops.rotation = rotation(config.rotary, frequencies, begin, count);
    ops.local_rotation = rotation(config.local_rotary, local_frequencies, begin, count);
  }
  template <typename Ops>
  at::Tensor run_layers(Ops& ops, at::Tensor x, const std::stop_token& stop) const {
    for (std::size_t index = 0; index < config.layers; ++index) {
      if (stop.stop_requested()) throw Cancelled();
      x = run_layer(ops, *layer(index), index, std::move(x));
    }
    return x;
  }
  // Returns the products of the output matrix, with its bias: [.., in] -> [.., out].
  template <typename Ops>
  at::Tensor products(const Ops& ops, const at::Tensor& x) const {
    std::vector<at::Tensor> parts;
    output.tiles([&](std::int64_t begin, const at::Tensor& tile) {
      Linear map;
      map.weight = tile;
      if (output_bias.defined()) map.bias = output_bias.narrow(0, begin, tile.size(0));
      parts.push_back(ops.linear(map, x));
    });
    return parts.size() == 1 ? parts.front() : at::cat(parts, -1);
  }
  // Converts the output of a decoder's last layer, [.., hidden], to logits [.., vocabulary or classes].
  template <typename Ops>
  at::Tensor logits(const Ops& ops, const at::Tensor& hidden) const {
    return finished(ops, products(ops, ops.normed(final_norm, hidden)));
  }
  // Returns the number that a target selects from the logits of one position's output of the last layer, [hidden].
  // Reads only the rows of the output matrix on which the number depends.
  at::Tensor value(const AutogradOps& ops, const ScoreTarget& target, const at::Tensor& hidden) const;

  ModelConfig config;
  at::Device device;
  std::optional<ImageTensors> image;  // set for an image model; the tables below are then undefined
  RowTable word_embedding;
  at::Tensor position_embedding;    // undefined: none is learned
  at::Tensor token_type_embedding;  // undefined: none
  Norm embedding_norm;              // as for all below: without a scale, or a weight, there is none
  Linear embedding_projection;
  at::Tensor distance_bias;      // [buckets, heads], or undefined
  at::Tensor frequencies;        // [rotary_width / 2], undefined: no rotary embedding
  at::Tensor local_frequencies;  // for layers with a window, if they have their own
  std::vector<LayerForm> forms;  // of the layers as stored; made from the above
  LayerStore layers;             // as stored
  Norm final_norm;

  // A masked language model: dense, activation, norm, output. Classification: dense and activation if there is a dense,
  // norm if any, output; if there is a second output, the mean of both. A decoder: output.
  Activation head_activation = Activation::kTanh;
  Linear head_dense;
  Norm head_norm;
  RowTable output;         // [vocabulary or classes, hidden]; undefined: a base model, which has no logits
  at::Tensor output_bias;  // or undefined: none
  Linear second_output;

 private:
  // Scales and caps the products of the output matrix.
  template <typename Ops>
  at::Tensor finished(const Ops& ops, at::Tensor logits) const {
    if (config.logit_factor != 1.0) logits = logits * config.logit_factor;
    return config.logit_cap > 0.0 ? ops.capped(logits, config.logit_cap) : logits;
  }
  at::Tensor frequencies_of(const RotaryConfig& rotary) const;
  std::vector<LayerForm> make_forms(TensorSource& source, const ModelWeights& weights) const;
  // [n, hidden], added to word embeddings at positions from `begin` on; undefined: none.
  at::Tensor positions(std::size_t begin, std::size_t count) const;
  RotaryUse rotary_use(std::size_t layer) const;
  Rotation rotation(const RotaryConfig& rotary, const at::Tensor& of_frequencies, std::size_t begin,
                    std::size_t count) const;
};

}  // namespace attnflow::internal
