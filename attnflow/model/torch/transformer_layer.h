// The Transformer layer of every architecture, written once, whatever computes it.
//
// Definition. A layer adds two things to the residual stream x: self-attention, in which a position takes up what
// others hold, and a feed-forward net (FFN) of every position by itself. With N a layer norm or an RMS norm,
//   norm before (ViT, GPT-2, Llama)   x' = x + attention(N(x)),   x'' = x' + ffn(N(x'))
//   norm after (BERT)                 x' = N(x + attention(x)),   x'' = N(x' + ffn(x'))
// With H heads of d numbers, of which G have keys and values of their own (head h uses those of key-value head h G /
// H),
//   attention(x) = W_o [.., softmax(q_h k_h^T / sqrt(d) + mask) v_h, ..]   q, k, v linear maps of x; q and k normed by
//                                                                         head (Qwen 3) and turned by their positions
//                                                                         where these are rotary
//   ffn(x) = W_out act(W_in x), or with a gate W_out (act(W_gate x) * W_in x)
// What each of both gives may be scaled, number by number (layer scale) or by one factor (Granite).
//
// `Ops` is a policy that says how the steps are computed, and is shown x and x + attention (attended()):
//   BlockedOps (blocked_ops.h)    one sequence, in place, cut into blocks that threads share out: the fast way
//   AutogradOps (autograd_ops.h)  padded batches, such that libtorch can differentiate
// Both take x as [B, T, hidden]: B sequences of T tokens.
//
// References:
//   Vaswani et al., Attention Is All You Need, NeurIPS 2017. https://arxiv.org/abs/1706.03762
//   Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021. https://arxiv.org/abs/2104.09864
//   Ainslie et al., GQA: Training Generalized Multi-Query Transformer Models, EMNLP 2023.
//     https://arxiv.org/abs/2305.13245
#ifndef ATTNFLOW_MODEL_TORCH_TRANSFORMER_LAYER_H_
#define ATTNFLOW_MODEL_TORCH_TRANSFORMER_LAYER_H_

#include <ATen/ATen.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "attnflow/model/architecture.h"
#include "attnflow/model/layer_weights.h"
#include "attnflow/model/torch/tensor_source.h"

namespace attnflow::internal {

// y = x W^T + b. Both are views of what is stored, however it is laid out.
struct Linear {
  Linear() = default;
  Linear(TensorSource& source, const LinearWeights& weights);

  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out], or undefined: none
};

struct Norm {
  Norm() = default;
  Norm(TensorSource& source, const NormWeights& weights, double epsilon, bool plus_one = false);
  at::Tensor operator()(const at::Tensor& x) const;
  // The same number, but for the gradient a map with sigma as a constant (BackwardRule::kAttnLrp).
  at::Tensor with_constant_sigma(const at::Tensor& x) const;

  at::Tensor scale;  // undefined: no norm, which is not called
  at::Tensor shift;  // undefined: RMS norm
  double eps = 0.0;
};

// cos and sin of the angles of T positions, [T, 1, w / 2], by which the first w numbers of a head are turned; undefined
// without a rotary embedding.
struct Rotation {
  // x is [.., T, heads, d].
  at::Tensor operator()(const at::Tensor& x) const;

  at::Tensor cos;
  at::Tensor sin;
};

at::Tensor activate(const at::Tensor& x, Activation activation);

// What its weights do not say of a layer.
struct LayerForm {
  NormPlace norm_place = NormPlace::kBefore;
  Activation activation = Activation::kGelu;
  double norm_eps = 0.0;
  bool norm_plus_one = false;        // norms multiply by 1 + scale
  std::int64_t heads = 1;            // H
  std::int64_t key_value_heads = 1;  // G
  std::int64_t head_width = 1;       // d
  std::int64_t window = 0;           // causal: positions that a query sees, itself among them; 0: all before it
  bool rotary = true;                // queries and keys are turned, where there is a rotary embedding
  double score_factor = 0.0;         // of q k^T; 0: 1 / sqrt(d)
  double residual_factor = 1.0;      // of what each half of the layer adds

  double of_scores() const {
    return score_factor > 0.0 ? score_factor : 1.0 / std::sqrt(static_cast<double>(head_width));
  }
};

struct TransformerLayer {
  TransformerLayer(TensorSource& source, const LayerWeights& weights, const LayerForm& layer_form);

  LayerForm form;
  Norm attention_norm;
  Linear query, key, value, attention_output;
  Norm query_norm, key_norm;   // of each head, or none
  at::Tensor attention_scale;  // [hidden], or undefined: none
  Norm feed_forward_norm;
  Linear gate;  // without a weight: none
  Linear feed_forward_in, feed_forward_out;
  Linear gate_and_in;             // both as they are stored, where that is as one map; else without a weight
  at::Tensor feed_forward_scale;  // as above
};

// What half of a layer adds, with its scale where that is defined.
template <typename Ops>
at::Tensor added(Ops& ops, const LayerForm& form, at::Tensor x, const at::Tensor& scale) {
  if (scale.defined()) x = ops.scaled(x, scale);
  return form.residual_factor == 1.0 ? x : ops.scaled(x, form.residual_factor);
}

template <typename Ops>
at::Tensor self_attention(Ops& ops, const TransformerLayer& layer, std::size_t index, const at::Tensor& x) {
  const LayerForm& form = layer.form;
  std::vector<at::Tensor> maps = ops.linear({&layer.query, &layer.key, &layer.value}, x);
  const auto by_head = [&](std::size_t map) {  // [B, T, heads, d]
    return std::exchange(maps[map], {}).view({x.size(0), x.size(1), -1, form.head_width});
  };
  const auto placed = [&](std::size_t map, const Norm& norm) {
    at::Tensor heads = by_head(map);
    if (norm.scale.defined()) heads = ops.normed(norm, heads);
    return form.rotary ? ops.rotation(heads) : heads;
  };
  at::Tensor query = ops.scaled(placed(0, layer.query_norm), form.of_scores());
  at::Tensor key = placed(1, layer.key_norm);
  const at::Tensor context = ops.attend(form, index, std::move(query), std::move(key), by_head(2));
  return added(ops, form, ops.linear(layer.attention_output, context), layer.attention_scale);
}

template <typename Ops>
at::Tensor feed_forward(Ops& ops, const TransformerLayer& layer, const at::Tensor& x) {
  return added(ops, layer.form, ops.linear(layer.feed_forward_out, ops.ffn_hidden(layer, x)), layer.feed_forward_scale);
}

// What follows the attention block: from the residual stream behind it (norm before), or from the sum that the block's
// norm is given (norm after). Each position by itself.
template <typename Ops>
at::Tensor rest_of_layer(Ops& ops, const TransformerLayer& layer, at::Tensor y) {
  if (layer.form.norm_place == NormPlace::kBefore) {
    return ops.residual(y, feed_forward(ops, layer, ops.normed(layer.feed_forward_norm, y)));
  }
  y = ops.normed(layer.attention_norm, y);
  return ops.normed(layer.feed_forward_norm, ops.residual(y, feed_forward(ops, layer, y)));
}

// [B, T, hidden] to [B, T, hidden]. `index` counts the layers that are run, from 0.
template <typename Ops>
at::Tensor run_layer(Ops& ops, const TransformerLayer& layer, std::size_t index, at::Tensor x) {
  const bool before = layer.form.norm_place == NormPlace::kBefore;
  at::Tensor y = ops.residual(x, self_attention(ops, layer, index, before ? ops.normed(layer.attention_norm, x) : x));
  y = ops.attended(layer, index, x, y);
  x.reset();
  return rest_of_layer(ops, layer, std::move(y));
}

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_TRANSFORMER_LAYER_H_
