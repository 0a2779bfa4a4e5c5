// The steps of a layer (transformer_layer.h) on padded batches, in a form that libtorch can differentiate: for
// training, gradients, and many short sequences at once. Runs on the calling thread.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/model/model.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

// Sets numbers to zero with a given probability and scales the others up, using its own random generator.
class Dropout {
 public:
  Dropout(double probability, std::uint64_t seed);
  at::Tensor operator()(const at::Tensor& x);

 private:
  double probability_;
  at::Generator generator_;
};

// Intermediate tensors of a layer: the very ones from which its result is computed.
struct LayerTap {
  at::Tensor weights;  // attention after softmax, [B, G, H / G, query, key]
  // The residual stream after the attention block, before any norm that follows it: [B, T, hidden]. With parallel
  // halves, the stream that bypasses attention.
  at::Tensor output;
  // The feed-forward net's output, the stream that passes it by, and their sum, before any norm: [B, T, hidden].
  at::Tensor written;
  at::Tensor passed;
  at::Tensor sum;
};

class AutogradOps {
 public:
  Rotation rotation;
  Rotation local_rotation;
  bool causal = false;    // a position sees itself and those before it, within the layer's window
  at::Tensor padding;     // [B, 1, 1, 1, T]: added to scores, -infinity for padding; undefined: none
  at::Tensor score_bias;  // [H or 1, T, T]: added to scores, if every head has its own keys; undefined: none
  OccurringBuckets distance_buckets;  // for layers whose form has DistanceTerms
  Dropout* dropout = nullptr;         // for terms added to the residual stream; null: none
  LayerTap* tap = nullptr;            // may be null
  BackwardRule rule = BackwardRule::kGradient;

  std::vector<at::Tensor> linear(const std::vector<const Linear*>& maps, const at::Tensor& x) const;
  at::Tensor linear(const Linear& map, const at::Tensor& x) const {
    return map.rows.defined() ? streamed_linear(map.rows, x) : at::linear(x, map.weight, map.bias);
  }
  at::Tensor activated(const Linear& map, const at::Tensor& x, Activation activation) const {
    return active(linear(map, x), activation);
  }
  at::Tensor ffn_hidden(const FeedForwardMaps& maps, const LayerForm& form, const at::Tensor& x) const;
  at::Tensor attend(const LayerForm& form, std::size_t index, const at::Tensor& query, const at::Tensor& key,
                    const at::Tensor& value) const;
  at::Tensor scaled(const at::Tensor& x, double factor) const { return x * factor; }
  at::Tensor scaled(const at::Tensor& x, const at::Tensor& factors) const { return x * factors; }
  at::Tensor product(const at::Tensor& x, const at::Tensor& factors) const { return halved(x * factors); }
  at::Tensor residual(const at::Tensor& x, const at::Tensor& added) const { return x + dropped(added); }
  at::Tensor dropped(const at::Tensor& x) const { return dropout == nullptr ? x : (*dropout)(x); }
  at::Tensor normed(const Norm& norm, const at::Tensor& x) const {
    return rule == BackwardRule::kAttnLrp ? norm.with_constant_sigma(x) : norm(x);
  }
  at::Tensor normed_block(const Norm& norm, const at::Tensor& x) const { return normed(norm, x); }
  at::Tensor capped(const at::Tensor& x, double cap) const;
  const at::Tensor& attended(const TransformerLayer& layer, std::size_t /*index*/, const at::Tensor& /*x*/,
                             const at::Tensor& y) const {
    if (tap != nullptr && !layer.form.parallel) tap->output = y;
    return y;
  }
  void see_feed_forward(const at::Tensor& passed, const at::Tensor& written, const at::Tensor& sum) const {
    if (tap == nullptr) return;
    tap->passed = passed.detach();
    tap->written = written.detach();
    tap->sum = sum;
  }
  at::Tensor beside_attention(const at::Tensor& x) const {
    if (tap == nullptr) return x;
    tap->output = x.view(x.sizes());  // the same numbers with a separate gradient
    return tap->output;
  }

 private:
  // f(z); under AttnLRP's rule, z times the constant f(z) / z.
  at::Tensor active(const at::Tensor& z, Activation activation) const;
  at::Tensor gated(at::Tensor gate, at::Tensor inside, const LayerForm& form) const;
  // A product of two activations; under AttnLRP's rule each factor receives half of its gradient.
  at::Tensor halved(const at::Tensor& product) const;
};

}  // namespace attnflow::internal
