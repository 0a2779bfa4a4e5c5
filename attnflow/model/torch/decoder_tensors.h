// The weights of a decoder as libtorch tensors.
#ifndef ATTNFLOW_MODEL_TORCH_DECODER_TENSORS_H_
#define ATTNFLOW_MODEL_TORCH_DECODER_TENSORS_H_

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnflow/model/decoder_weights.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

struct DecoderTensors {
  DecoderTensors(TensorSource& source, const DecoderWeights& weights);

  // What the first layer is given for tokens at positions from `begin` on: [1, n, hidden].
  at::Tensor embed(std::span<const std::int64_t> ids, std::size_t begin) const;
  Rotation rotation(std::size_t begin, std::size_t count) const;
  // What the last layer gives, [.., hidden], as logits [.., vocabulary].
  template <typename Ops>
  at::Tensor logits(const Ops& ops, const at::Tensor& hidden) const {
    const at::Tensor plain = ops.linear(output, ops.normed(final_norm, hidden));
    return config.logit_factor == 1.0 ? plain : plain * config.logit_factor;
  }
  bool has_plus_one() const { return config.architecture->norm == NormKind::kRmsPlusOne; }

  DecoderConfig config;
  at::Tensor word_embedding;
  at::Tensor position_embedding;  // undefined: rotary
  at::Tensor frequencies;         // [rotary_width / 2], undefined: learnt positions
  std::vector<TransformerLayer> layers;
  Norm final_norm;
  Linear output;  // without a weight: a base model, which has no logits
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_DECODER_TENSORS_H_
