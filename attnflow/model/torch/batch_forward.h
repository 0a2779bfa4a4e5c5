// The encoder on padded batches, differentiable: for training, for gradients of the input, and for many short
// sequences. Pictures of one size are a batch without padding.
//
// Shapes: B sequences of at most T tokens; E the width of the embeddings, H the hidden size. Positions behind a
// sequence's length are padding: no query attends to them, so what stands there changes nothing elsewhere.
#ifndef ATTNFLOW_MODEL_TORCH_BATCH_FORWARD_H_
#define ATTNFLOW_MODEL_TORCH_BATCH_FORWARD_H_

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnflow/model/model.h"
#include "attnflow/model/model_config.h"
#include "attnflow/model/torch/encoder_tensors.h"

namespace attnflow::internal {

// Sets numbers to zero with a probability and scales the others up, from a generator of its own.
class Dropout {
 public:
  Dropout(double probability, std::uint64_t seed);
  at::Tensor operator()(const at::Tensor& x);

 private:
  double probability_;
  at::Generator generator_;
};

struct PaddedBatch {
  at::Tensor ids;           // [B, T]
  at::Tensor type_ids;      // [B, T], or undefined: all 0
  at::Tensor position_ids;  // [B, T]
  at::Tensor mask;          // [B, 1, 1, T]: added to scores, 0 for tokens and -infinity for padding; undefined: none
  at::Tensor pixels;        // [B, channels, height, width], in the place of all others; undefined: a text
};

// `ids` is [rows, length]; of `type_ids`, [rows, length] or empty.
PaddedBatch make_batch(const ModelConfig& config, std::span<const std::int64_t> ids,
                       std::span<const std::int64_t> type_ids, std::span<const std::size_t> lengths, std::size_t length,
                       at::Device device);

// `pixels` is [rows, channels, height, width]; copied.
PaddedBatch make_batch(std::span<const float> pixels, const std::vector<std::int64_t>& shape, at::Device device);

class BatchEncoder {
 public:
  BatchEncoder(const ModelConfig& config, const EncoderTensors& tensors) : config_(config), tensors_(tensors) {}

  // What the embedding module gives, after its norm where it has one: [B, T, E].
  at::Tensor embed(const PaddedBatch& batch) const;
  // The last hidden states [B, T, H] of embeddings: project(), every run_layer(), finish().
  at::Tensor encode(const at::Tensor& embedding, const at::Tensor& mask, Dropout* dropout = nullptr) const;
  // What the first layer is given, of embeddings; those themselves where they are not projected.
  at::Tensor project(const at::Tensor& embedding) const;
  // Layer `index`, from 0. `weights` (may be null) becomes its attention weights, [B, head, query, key].
  at::Tensor run_layer(std::size_t index, const at::Tensor& x, const at::Tensor& mask, Dropout* dropout = nullptr,
                       at::Tensor* weights = nullptr) const;
  // What follows the last layer.
  at::Tensor finish(const at::Tensor& x) const;
  // Classification head: [B, classes].
  at::Tensor classify(const at::Tensor& hidden) const;
  // Masked-LM head at `positions`, numbers row * T + position: [positions, vocabulary].
  at::Tensor predict_tokens(const at::Tensor& hidden, const at::Tensor& positions) const;

 private:
  at::Tensor mix_positions(const EncoderLayer& layer, const at::Tensor& x, const at::Tensor& mask,
                           at::Tensor* weights) const;
  at::Tensor feed_forward(const EncoderLayer& layer, const at::Tensor& x) const;

  const ModelConfig& config_;
  const EncoderTensors& tensors_;
};

// Groups of inputs of about the same length, or pictures of the same size: numbers of inputs, each once. A group times
// its longest input stays within `max_tokens` where it holds more than one. Depends on the lengths and sizes alone.
// The inputs have been checked.
std::vector<std::vector<std::size_t>> group_by_length(const ModelInfo& info, std::span<const ModelInput> inputs,
                                                      std::size_t max_tokens);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_BATCH_FORWARD_H_
