// The weights of a decoder as libtorch tensors, and the operations that are the same in both of its programs:
// decoder.cc, which runs a sequence in chunks and keeps keys and values, and decoder_gradients.h, which differentiates.
#ifndef ATTNFLOW_MODEL_TORCH_DECODER_TENSORS_H_
#define ATTNFLOW_MODEL_TORCH_DECODER_TENSORS_H_

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnflow/model/decoder_weights.h"
#include "attnflow/model/torch/encoder_tensors.h"

namespace attnflow::internal {

// y = x W^T + b. Both are views of what is stored, however it is laid out.
struct Projection {
  Projection() = default;
  Projection(TensorSource& source, const DecoderLinear& weights);
  at::Tensor operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }

  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out], or undefined: none
};

// The norm of NormKind: a layer norm where there is a shift, else RMS.
struct DecoderNormTensors {
  DecoderNormTensors() = default;
  DecoderNormTensors(TensorSource& source, const DecoderNorm& weights, double epsilon);
  at::Tensor operator()(const at::Tensor& x) const;

  at::Tensor scale;
  at::Tensor shift;  // undefined: RMS
  double eps = 0.0;
};

struct DecoderLayer {
  DecoderLayer(TensorSource& source, const DecoderLayerWeights& weights, double eps, std::size_t window_size);

  DecoderNormTensors attention_norm;
  Projection query, key, value, attention_output;
  DecoderNormTensors feed_forward_norm;
  Projection gate;  // without a weight: none
  Projection feed_forward_in, feed_forward_out;
  std::int64_t window;  // 0: none
};

// cos and sin of the angles of some positions, [n, 1, head_width / 2]; undefined without a rotary embedding.
struct Rotation {
  // x is [n, heads, head_width].
  at::Tensor operator()(const at::Tensor& x) const;

  at::Tensor cos;
  at::Tensor sin;
};

struct DecoderTensors {
  DecoderTensors(TensorSource& source, const DecoderWeights& weights);

  // What the first layer is given for tokens at positions from `begin` on: [n, hidden].
  at::Tensor embed(std::span<const std::int64_t> ids, std::size_t begin) const;
  Rotation rotation(std::size_t begin, std::size_t count) const;

  at::Tensor word_embedding;
  at::Tensor position_embedding;  // undefined: rotary
  at::Tensor frequencies;         // [head_width / 2], undefined: learnt positions
  std::vector<DecoderLayer> layers;
  DecoderNormTensors final_norm;
  Projection output;  // without a weight: a base model, which has no logits
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_DECODER_TENSORS_H_
