// The steps of a layer (transformer_layer.h) on padded batches, such that libtorch can differentiate them: for
// training, for gradients, and for many short sequences at once. Runs on the calling thread.
#ifndef ATTNFLOW_MODEL_TORCH_AUTOGRAD_OPS_H_
#define ATTNFLOW_MODEL_TORCH_AUTOGRAD_OPS_H_

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

// Sets numbers to zero with a probability and scales the others up, from a generator of its own.
class Dropout {
 public:
  Dropout(double probability, std::uint64_t seed);
  at::Tensor operator()(const at::Tensor& x);

 private:
  double probability_;
  at::Generator generator_;
};

class AutogradOps {
 public:
  Rotation rotation;
  bool causal = false;            // a position sees itself and those before it, as far as the layer's window goes
  at::Tensor padding;             // [B, 1, 1, 1, T]: added to scores, -infinity for padding; undefined: none
  Dropout* dropout = nullptr;     // of what is added to the residual stream; null: none
  at::Tensor* weights = nullptr;  // may be null: becomes a layer's attention weights, [B, G, H / G, query, key]

  std::vector<at::Tensor> linear(const std::vector<const Linear*>& maps, const at::Tensor& x) const;
  at::Tensor linear(const Linear& map, const at::Tensor& x) const { return at::linear(x, map.weight, map.bias); }
  at::Tensor activated(const Linear& map, const at::Tensor& x, Activation activation) const {
    return activate(linear(map, x), activation);
  }
  at::Tensor ffn_hidden(const TransformerLayer& layer, const at::Tensor& x) const;
  at::Tensor attend(const LayerForm& form, std::size_t index, const at::Tensor& query, const at::Tensor& key,
                    const at::Tensor& value) const;
  at::Tensor scaled(const at::Tensor& x, double factor) const { return x * factor; }
  at::Tensor scaled(const at::Tensor& x, const at::Tensor& factors) const { return x * factors; }
  at::Tensor residual(const at::Tensor& x, const at::Tensor& added) const { return x + dropped(added); }
  at::Tensor dropped(const at::Tensor& x) const { return dropout == nullptr ? x : (*dropout)(x); }
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_AUTOGRAD_OPS_H_
