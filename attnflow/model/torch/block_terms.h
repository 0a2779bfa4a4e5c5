// The terms of an attention block (graph/layer_terms.h), from libtorch's tensors to a sink.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <functional>

#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

// One block for T tokens, on any device.
struct BlockTerms {
  std::size_t layer = 0;                              // 1 for the first
  std::size_t begin = 0;                              // position of the first token
  at::Tensor attention = {};                          // [H, T, key]
  at::Tensor values = {};                             // [T, G, d]
  at::Tensor projection = {};                         // [H d, hidden]
  at::Tensor block_scale = {};                        // [T]; undefined: 1
  at::Tensor residual = {};                           // [T, hidden]: x
  at::Tensor output = {};                             // [T, hidden]: y
  const Norm* norm = nullptr;                         // of y, if norms come after their blocks
  const Norm* last_norm = nullptr;                    // after the feed-forward net, if it belongs to the block's layer
  std::function<at::Tensor(at::Tensor y)> rest = {};  // [1, rows, hidden] to the same; may be empty
};

// The output projection of self-attention, [H d, hidden], with all factors of what the block adds.
at::Tensor written_projection(const TransformerLayer& layer);

void send_terms(const BlockTerms& block, AttentionSink& sink);

}  // namespace attnflow::internal
