// Products with a quantized matrix that is never in memory as float32.
//
// Problem. A layer of a quantized model in float32 takes several times its memory in the file (about seven times for
// Q4_K). Dequantizing it, writing it to memory and reading it back takes longer than the products with a short text.
//
// Method. A panel of rows that fits into a processor's cache is dequantized, multiplied and discarded:
//
//     x W^T     each panel gives its columns of the result                                  [n, in]  -> [n, out]
//     g W       each panel adds its share, the gradient of x for a gradient g of x W^T      [n, out] -> [n, in]
//
// Every product dequantizes every number once. The cuts depend only on the shapes, so results are bitwise independent
// of the number of threads. Memory: a panel for each thread, and for g W up to sixteen results that are added up.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <cstdint>

#include "attnflow/model/layer_weights.h"
#include "attnflow/model/torch/tensor_source.h"

namespace attnflow::internal {

// Rows of a matrix [out, in] that a TensorReader reads.
class WeightRows : public torch::CustomClassHolder {
 public:
  // Whether these rows can be read a panel at a time, on a CPU.
  static bool are(const TensorSource& source, const LinearWeights& weights);
  // The stored tensor must outlive this.
  WeightRows(const TensorSource& source, const LinearWeights& weights, at::Tensor bias);

  // x W^T + b, without a gradient.
  at::Tensor times(const at::Tensor& x) const;
  // g W.
  at::Tensor gradient(const at::Tensor& g) const;
  at::Tensor whole() const;

 private:
  // Rows [first, first + rows), in this thread's memory until its next panel.
  at::Tensor panel(std::int64_t first, std::int64_t rows) const;

  TensorSource source_;
  const StoredTensor* stored_;
  at::Tensor bias_;  // undefined: none
  std::int64_t begin_;
  std::int64_t out_;
  std::int64_t in_;
};

// x W^T + b, differentiable in x: [.., in] -> [.., out].
at::Tensor streamed_linear(const c10::intrusive_ptr<WeightRows>& weight, const at::Tensor& x);

}  // namespace attnflow::internal
