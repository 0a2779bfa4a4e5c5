// A decoder's weights as libtorch tensors.
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

struct DecoderTensors {
  // Keep::kFew: layers, embedding and output are made from their stored form when they are used (layer_store.h).
  enum class Keep { kAll, kFew };
  DecoderTensors(TensorSource& source, const ModelWeights& weights, Keep keep = Keep::kAll);

  // Returns the input of the first layer for tokens at positions from `begin` on: [1, n, hidden].
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
      x = run_layer(ops, *layers.get(index, index + 1), index, std::move(x));
    }
    return x;
  }
  // Converts the last layer's output, [.., hidden], to logits [.., vocabulary or classes].
  template <typename Ops>
  at::Tensor logits(const Ops& ops, const at::Tensor& hidden) const {
    const at::Tensor x = ops.normed(final_norm, hidden);
    std::vector<at::Tensor> parts;
    output.tiles([&](std::int64_t begin, const at::Tensor& tile) {
      Linear map;
      map.weight = tile;
      if (output_bias.defined()) map.bias = output_bias.narrow(0, begin, tile.size(0));
      parts.push_back(ops.linear(map, x));
    });
    return finished(ops, parts.size() == 1 ? parts.front() : at::cat(parts, -1));
  }
  // Returns the number that a target selects from the logits of one position's output of the last layer, [hidden].
  // Reads only the rows of the output matrix on which the number depends.
  at::Tensor value(const AutogradOps& ops, const ScoreTarget& target, const at::Tensor& hidden) const;
  bool has_plus_one() const { return config.architecture->norm == NormKind::kRmsPlusOne; }

  ModelConfig config;
  at::Device device;
  RowTable word_embedding;
  at::Tensor position_embedding;  // undefined: none is learned
  at::Tensor distance_bias;       // [buckets, heads], or undefined
  Norm embedding_norm;            // of embeddings; without a scale: none
  at::Tensor frequencies;         // [rotary_width / 2], undefined: no rotary embedding
  at::Tensor local_frequencies;   // for layers with a window, if they have their own
  std::vector<LayerForm> forms;   // made from the above
  LayerStore layers;
  Norm final_norm;         // without a scale: none
  RowTable output;         // [vocabulary or classes, hidden]; undefined: a base model, which has no logits
  at::Tensor output_bias;  // or undefined: none

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
