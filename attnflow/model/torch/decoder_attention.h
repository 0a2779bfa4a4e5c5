// Keys and values of a decoder, and the attention of some queries to them.
//
// Positions count from 0 of the sequence. H heads, G of them with keys and values of their own, d numbers each: head h
// uses those of key-value head h G / H.
#ifndef ATTNFLOW_MODEL_TORCH_DECODER_ATTENTION_H_
#define ATTNFLOW_MODEL_TORCH_DECODER_ATTENTION_H_

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/model/decoder_config.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

// Keys (turned, where positions are rotary) and values of every layer, with room for more positions than are used.
class KeyValueCache {
 public:
  KeyValueCache(const DecoderConfig& config, at::Device device);

  // Makes room for `positions` in all; what is stored of the first `used` stays. Room grows by half at least, so that
  // appending token by token copies each number a few times at most.
  void reserve(std::size_t positions, std::size_t used);
  // What room for so many positions takes.
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
  at::Tensor queries;         // [n, H d], scaled by 1 / sqrt(d)
  std::int64_t begin = 0;     // the position of the first query; the keys end with the last query's own position
  std::int64_t all_keys = 0;  // above 0: not causal, each query sees so many keys
  at::Tensor keys;            // [G, room, d]
  at::Tensor values;          // [G, room, d]; undefined: no context
  at::Tensor score_bias;      // [H, n, keys], added to scores; undefined: none
  at::Tensor attention;       // [H, n, keys], written where defined: softmax of scores, 0 where a query cannot see
  at::Tensor context;         // [n, H d], written where values are defined
};

// Takes from scores [.., queries, keys] what their softmax shall leave nothing of: keys behind a query, or before its
// window (0: none). The last key is the last query's own; the first query and key stand at these positions.
void apply_causal_mask(at::Tensor& scores, std::int64_t key_begin, std::int64_t query_begin, std::int64_t window);

// On a CPU computes the task in tiles of a head and some queries, whose scores alone are in memory: [64, begin + n] for
// each thread. The same tiles, so the same bits, whether or not attention is asked for. Other devices share work out
// themselves and get it in one piece.
void attend(const AttentionTask& task, std::size_t threads);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_DECODER_ATTENTION_H_
