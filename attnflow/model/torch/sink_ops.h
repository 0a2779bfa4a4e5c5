// Passes a running layer's terms to a sink (graph/layer_terms.h).
#ifndef ATTNFLOW_MODEL_TORCH_LAYER_TERMS_H_
#define ATTNFLOW_MODEL_TORCH_LAYER_TERMS_H_

#include <ATen/ATen.h>

#include <cstddef>
#include <functional>

#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

// A layer after attention, as a policy (transformer_layer.h) knows it: for one sequence, T positions from
// `query_begin` on.
struct AttendedLayer {
  std::size_t index = 0;  // from 0
  std::size_t query_begin = 0;
  at::Tensor attention;  // [H, T, key]
  at::Tensor values;     // [T, G, d]
  at::Tensor x;          // [1, T, hidden]: the residual stream before the block
  at::Tensor y;          // [1, T, hidden]: after it
  // rest_of_layer() for rows [1, rows, hidden], which it may overwrite. Empty if that depends on more than the row.
  std::function<at::Tensor(at::Tensor rows)> rest = {};
  at::Tensor block_scale = {};  // [T]: factor by which a norm scaled the block's output; undefined: none
};

void send_terms(const TransformerLayer& layer, const AttendedLayer& attended, AttentionSink& sink);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_LAYER_TERMS_H_
