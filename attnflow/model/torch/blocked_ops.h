// The steps of a layer (transformer_layer.h), optimized for speed: in place, without gradients, with matrix products
// cut into blocks that threads share.
//
// The cuts depend only on the shapes, so results are bitwise independent of the number of threads (split_work.h). On a
// CPU, a block is worth a thread and, in a large matrix, large enough that few numbers are packed for the BLAS more
// than once. Other devices get the work in one piece and divide it themselves.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/model/torch/split_work.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

// How to compute a product with one row. As a vector, each weight is read once and none is packed.
enum class OneRow { kMatrix, kVector };

// Lacks attend(), which encoders and decoders implement separately.
class BlockedOps {
 public:
  BlockedOps(at::Device device, std::size_t threads, OneRow one_row)
      : one_piece_(!device.is_cpu()), threads_(threads), one_row_(one_row) {}

  Rotation rotation;
  Rotation local_rotation;

  // Returns x W^T + b for each of `maps`: x is [.., in], each result [.., out].
  std::vector<at::Tensor> linear(const std::vector<const Linear*>& maps, const at::Tensor& x) const;
  at::Tensor linear(const Linear& map, const at::Tensor& x) const { return linear({&map}, x).front(); }
  // Returns activation(in(x)), or activation(gate(x)) * in(x) if `gate` has a weight; `limit`: LayerForm::gate_limit.
  at::Tensor activated(const Linear& in, const at::Tensor& x, Activation activation, const Linear& gate = {},
                       double limit = 0.0) const;
  at::Tensor ffn_hidden(const FeedForwardMaps& maps, const LayerForm& form, const at::Tensor& x) const {
    return activated(maps.in, x, form.activation, maps.gate, form.gate_limit);
  }

  // These overwrite their argument; `residual` overwrites `added`.
  at::Tensor scaled(const at::Tensor& x, double factor) const { return x.mul_(factor); }
  at::Tensor scaled(const at::Tensor& x, const at::Tensor& factors) const { return x.mul_(factors); }
  at::Tensor residual(const at::Tensor& x, const at::Tensor& added) const { return added.add_(x); }
  at::Tensor product(const at::Tensor& x, const at::Tensor& factors) const { return x.mul_(factors); }
  at::Tensor dropped(const at::Tensor& x) const { return x; }
  at::Tensor capped(const at::Tensor& x, double cap) const { return x.div_(cap).tanh_().mul_(cap); }
  at::Tensor normed(const Norm& norm, const at::Tensor& x) const { return norm(x); }
  at::Tensor normed_block(const Norm& norm, const at::Tensor& x) const { return norm(x); }
  const at::Tensor& beside_attention(const at::Tensor& x) const { return x; }
  const at::Tensor& attended(const TransformerLayer& /*layer*/, std::size_t /*index*/, const at::Tensor& /*x*/,
                             const at::Tensor& y) const {
    return y;
  }

 protected:
  std::size_t threads() const { return threads_; }
  bool one_piece() const { return one_piece_; }

 private:
  struct Block {
    std::size_t map = 0;
    std::int64_t row = 0, rows = 0;        // of x and of the result
    std::int64_t column = 0, columns = 0;  // of the result: rows of the weight

    at::Tensor of_input(const at::Tensor& x) const { return x.narrow(0, row, rows); }
    at::Tensor of_weight(const at::Tensor& weight) const { return weight.narrow(0, column, columns); }
    at::Tensor of_result(const at::Tensor& y) const { return of_input(y).narrow(1, column, columns); }
  };
  static void multiply(const Block& block, const Linear& map, const at::Tensor& x, at::Tensor result, bool as_vector);

  bool as_vector(const at::Tensor& x) const { return x.size(0) == 1 && one_row_ == OneRow::kVector; }
  std::vector<Block> cut(const at::Tensor& x, const std::vector<std::int64_t>& outs) const;
  std::size_t useful_threads_for(const at::Tensor& x, std::int64_t outs) const;

  bool one_piece_;
  std::size_t threads_;
  OneRow one_row_;
};

}  // namespace attnflow::internal
