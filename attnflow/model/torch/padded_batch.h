// The input of encoders: sequences of tokens padded to one length, or images of one size.
//
// A batch holds B sequences of at most T tokens. Positions after a sequence's end are padding: no query attends to
// them. A batch of one sequence has none.
#pragma once

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
  at::Tensor padding;       // in AutogradOps's form: 0 for tokens, -infinity for padding; undefined: none
  at::Tensor pixels;        // [B, channels, height, width], instead of all others; undefined: a text
};

// `ids` is [rows, length]; `type_ids` is [rows, length] or empty.
PaddedBatch make_batch(const ModelConfig& config, std::span<const std::int64_t> ids,
                       std::span<const std::int64_t> type_ids, std::span<const std::size_t> lengths, std::size_t length,
                       at::Device device);

// Inputs of a batch must share the image size (empty for a text).
struct BatchItem {
  std::size_t tokens = 0;
  Shape size = {};
};

// Groups inputs of similar length and equal size; the result holds each input's index once. A group's size times its
// longest input does not exceed `max_tokens` unless the group has a single input. Depends only on lengths and sizes.
std::vector<std::vector<std::size_t>> group_by_length(std::span<const BatchItem> inputs, std::size_t max_tokens);

}  // namespace attnflow::internal
