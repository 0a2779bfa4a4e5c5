// A decoder's keys and values, and the attention of queries to them. Positions count from 0 at the start of the
// sequence. There are H heads of d numbers each, and G of them have their own keys and values: head h uses those of
// key-value head h G / H.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/model/model_config.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

// Keys (rotated, if positions are rotary) and values of every layer, with room for more positions than are in use.
class KeyValueCache {
 public:
  KeyValueCache(const ModelConfig& config, at::Device device);

  // Makes room for `positions` in total and keeps the first `used`. Room grows by at least half, so that appending
  // token by token copies each number only a few times.
  void reserve(std::size_t positions, std::size_t used);
  std::size_t bytes(std::size_t positions) const {
    return 2 * keys_.size() * static_cast<std::size_t>(heads_ * width_) * positions * sizeof(float);
  }
  // Stores keys and values [n, G d] of layer `layer` (from 0) at positions from `begin` on.
  void write(std::size_t layer, std::size_t begin, const at::Tensor& keys, const at::Tensor& values);
  // [G, room, d]
  const at::Tensor& keys(std::size_t layer) const { return keys_[layer]; }
  const at::Tensor& values(std::size_t layer) const { return values_[layer]; }

 private:
  std::int64_t heads_;
  std::int64_t width_;
  std::size_t most_;  // the model's positions
  at::Device device_;
  std::size_t room_ = 0;  // positions
  std::vector<at::Tensor> keys_;
  std::vector<at::Tensor> values_;
};

struct AttentionTask {
  explicit AttentionTask(const LayerForm& layer_form) : form(layer_form) {}

  const LayerForm& form;
  at::Tensor queries;         // [n, H d], already scaled by LayerForm::score_factor
  std::int64_t begin = 0;     // the position of the first query; the keys end with the last query's own position
  std::int64_t all_keys = 0;  // above 0: not causal, each query sees this many keys
  at::Tensor keys;            // [G, room, d]
  at::Tensor values;          // [G, room, d]; undefined: no context
  at::Tensor score_bias;      // [H, n, keys], added to scores; undefined: none
  at::Tensor attention;       // [H, n, keys], written if defined: softmax of scores, 0 where a query cannot see
  at::Tensor context;         // [n, H d], written if values are defined
};

// Masks scores [.., queries, keys] so that their softmax is 0 for keys after a query or before its window (0: none).
// The last key is the last query's own; `key_begin` and `query_begin` are the positions of the first key and query.
void apply_causal_mask(at::Tensor& scores, std::int64_t key_begin, std::int64_t query_begin, std::int64_t window);

// The softmax of scores [.., H, queries, keys] beside one more for each head, which may be undefined: sinks [.., H, 1,
// 1]. Without it, rows sum to 1.
at::Tensor softmax_beside(const at::Tensor& scores, const at::Tensor& sinks);

// On a CPU, computes tiles of a head and some queries, holding only their scores: [64, begin + n] for each thread. The
// bits of results do not depend on whether attention is requested. Other devices divide the work themselves.
void attend(const AttentionTask& task, std::size_t threads);

}  // namespace attnflow::internal
