// The matrix products of a decoder, split among threads in blocks whose borders depend on shapes alone (split_work.h).
#ifndef ATTNFLOW_MODEL_TORCH_DECODER_PRODUCTS_H_
#define ATTNFLOW_MODEL_TORCH_DECODER_PRODUCTS_H_

#include <ATen/ATen.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "attnflow/model/architecture.h"
#include "attnflow/model/torch/decoder_tensors.h"

namespace attnflow::internal {

// x W^T + b for each of `maps`: x is [n, in], each result [n, out]. One row is multiplied as a vector, which reads each
// weight once and packs none.
std::vector<at::Tensor> project(const std::vector<const Projection*>& maps, const at::Tensor& x, std::size_t threads);
at::Tensor project(const Projection& map, const at::Tensor& x, std::size_t threads);

// activation(in(x)), or activation(gate(x)) * in(x) where `gate` has a weight: [n, width inside].
at::Tensor feed_forward_inside(const Projection& gate, const Projection& in, const at::Tensor& x, Activation activation,
                               std::size_t threads);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_DECODER_PRODUCTS_H_
