// BlockedOps whose layers pass their attention, or their terms (graph/layer_terms.h), to a sink.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>

#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/torch/blocked_ops.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

class SinkOps : public BlockedOps {
 public:
  // For one sequence, from position `begin` on. `sink` may be null.
  SinkOps(at::Device device, std::size_t threads, OneRow one_row, AttentionSink* sink, std::size_t begin = 0)
      : BlockedOps(device, threads, one_row), sink_(sink), begin_(begin) {}

  at::Tensor normed_block(const Norm& norm, const at::Tensor& x) {
    if (wants_terms()) block_scale_ = norm.factor(x)[0].squeeze(-1);
    return norm(x);
  }
  const at::Tensor& attended(const TransformerLayer& layer, std::size_t index, const at::Tensor& x,
                             const at::Tensor& y);

 protected:
  // Sends a layer's attention [H, T, key], or keeps it with the values [1, T, G, d] for its terms.
  void deliver(std::size_t index, at::Tensor attention, at::Tensor value);

 private:
  bool wants_terms() const { return sink_ != nullptr && sink_->wants_terms(); }

  AttentionSink* sink_;
  std::size_t begin_;
  at::Tensor attention_;    // of the layer that has just attended, if its terms are wanted
  at::Tensor values_;       // [T, G, d]
  at::Tensor block_scale_;  // [T]: factor by which a norm scaled its block's output; undefined: none
};

}  // namespace attnflow::internal
