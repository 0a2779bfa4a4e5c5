// What encoders run on: sequences of tokens padded to one length, or pictures of one size.
//
// B sequences of at most T tokens. Positions behind a sequence's length are padding: no query attends to them, so what
// stands there changes nothing elsewhere. A batch of one sequence has none.
#ifndef ATTNFLOW_MODEL_TORCH_PADDED_BATCH_H_
#define ATTNFLOW_MODEL_TORCH_PADDED_BATCH_H_

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnflow/model/model_config.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

struct PaddedBatch {
  at::Tensor ids;           // [B, T]
  at::Tensor type_ids;      // [B, T], or undefined: all 0
  at::Tensor position_ids;  // [B, T]
  at::Tensor padding;       // as AutogradOps takes it: 0 for tokens, -infinity for padding; undefined: none
  at::Tensor pixels;        // [B, channels, height, width], in the place of all others; undefined: a text
};

// `ids` is [rows, length]; of `type_ids`, [rows, length] or empty.
PaddedBatch make_batch(const ModelConfig& config, std::span<const std::int64_t> ids,
                       std::span<const std::int64_t> type_ids, std::span<const std::size_t> lengths, std::size_t length,
                       at::Device device);

// The tokens of an input, and what inputs of one batch have in common beside their length: the size of an image.
struct BatchItem {
  std::size_t tokens = 0;
  Shape size = {};
};

// Groups of inputs of about the same length and of one size: numbers of inputs, each once. A group times its longest
// input stays within `max_tokens` where it holds more than one. Depends on lengths and sizes alone.
std::vector<std::vector<std::size_t>> group_by_length(std::span<const BatchItem> inputs, std::size_t max_tokens);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_PADDED_BATCH_H_
