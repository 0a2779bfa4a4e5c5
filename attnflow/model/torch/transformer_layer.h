// The Transformer layer of every architecture, written once, whatever computes it.
//
// Definition. A layer adds two things to the residual stream x: self-attention, in which a position takes up what
// others hold, and a feed-forward net (FFN) of every position by itself. With N a layer norm or an RMS norm,
//   norm before (ViT, GPT-2, Llama)   x' = x + attention(N(x)),   x'' = x' + ffn(N(x'))
//   norm after (BERT)                 x' = N(x + attention(x)),   x'' = N(x' + ffn(x'))
//   in parallel (GPT-NeoX, GPT-J)     x'' = x + attention(N(x)) + ffn(N'(x)), where N' may be N
// The decoder of an encoder-decoder adds a third in between: attention whose keys and values are maps of what the
// encoder gave, normed like the others.
// With H heads of d numbers, of which G have keys and values of their own (head h uses those of key-value head h G /
// H),
//   attention(x) = W_o [.., softmax(q_h k_h^T / sqrt(d) + mask) v_h, ..]   q, k, v linear maps of x; q and k normed by
//                                                                         head (Qwen 3) and turned by their positions
//                                                                         where these are rotary
//   ffn(x) = W_out act(W_in x), or with a gate W_out (act(W_gate x) * W_in x)
// What each of both gives may be scaled, number by number (layer scale) or by one factor (Granite), and normed before
// it is added (Gemma 2; OLMo 2, which has no norm before). Scores s may be capped, c tanh(s / c) (Gemma 2), and grow
// with the key's position, by a slope of the head (ALiBi: BLOOM, Falcon).
//
// DeBERTa's scores have two more terms. With E_b the normed embedding of the distances in bucket b (distance_bucket.h),
//   s_ij = (q_i . k_j + q_i . W_k E_b + k_j . W_q E_b) / sqrt(3 d)   b the bucket of i - j
// where W_q and W_k are the layer's own maps to queries and keys, with their biases, or (the first DeBERTa, which does
// not norm E_b) others.
//
// `Ops` is a policy that says how the steps are computed, and is shown x and x + attention (attended()):
//   BlockedOps (blocked_ops.h)    one sequence, in place, cut into blocks that threads share out: the fast way
//   AutogradOps (autograd_ops.h)  padded batches, such that libtorch can differentiate
// Both take x as [B, T, hidden]: B sequences of T tokens.
//
// References:
//   Vaswani et al., Attention Is All You Need, NeurIPS 2017. https://arxiv.org/abs/1706.03762
//   Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021. https://arxiv.org/abs/2104.09864
//   He et al., DeBERTa: Decoding-enhanced BERT with Disentangled Attention, ICLR 2021. https://arxiv.org/abs/2006.03654
//   Ainslie et al., GQA: Training Generalized Multi-Query Transformer Models, EMNLP 2023.
//     https://arxiv.org/abs/2305.13245
#ifndef ATTNFLOW_MODEL_TORCH_TRANSFORMER_LAYER_H_
#define ATTNFLOW_MODEL_TORCH_TRANSFORMER_LAYER_H_

#include <ATen/ATen.h>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "attnflow/model/architecture.h"
#include "attnflow/model/layer_weights.h"
#include "attnflow/model/torch/tensor_source.h"

namespace attnflow::internal {

// y = x W^T + b. Both are views of what is stored, however it is laid out; undefined where there is no such map.
struct Linear {
  Linear() = default;
  Linear(TensorSource& source, const LinearWeights& weights);

  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out], or undefined: none
};

struct Norm {
  Norm() = default;
  Norm(TensorSource& source, const NormWeights& weights, double epsilon, bool plus_one = false);
  at::Tensor operator()(const at::Tensor& x) const;  // x itself where there is no norm
  // 1 / sigma of an RMS norm, [.., 1].
  at::Tensor factor(const at::Tensor& x) const;
  // The same number, but for the gradient a map with sigma as a constant (BackwardRule::kAttnLrp).
  at::Tensor with_constant_sigma(const at::Tensor& x) const;

  at::Tensor scale;  // undefined: no norm
  at::Tensor shift;  // undefined: RMS norm
  double eps = 0.0;
};

// cos and sin of the angles of T positions, [T, 1, w / 2], by which the first w numbers of a head are turned, pairs of
// them: numbers i and i + w / 2, or 2 i and 2 i + 1. Undefined without a rotary embedding.
struct Rotation {
  // x is [.., T, heads, d].
  at::Tensor operator()(const at::Tensor& x) const;

  at::Tensor cos;
  at::Tensor sin;
  bool neighbors = false;
};

at::Tensor activate(const at::Tensor& x, Activation activation);

// ALiBi: scores grow with the position of the key, by a slope of the head.
struct Slopes {
  // What is added to the scores of `count` heads from `first` on, [count, 1, T], of keys at `positions` [T].
  at::Tensor operator()(const at::Tensor& positions, std::int64_t first, std::int64_t count) const;
  bool defined() const { return of_heads.defined(); }

  at::Tensor of_heads;  // [H]; undefined: none. Products are rounded to numbers of this kind
  double factor = 1.0;  // of these products
};

// By which angles queries and keys are turned, where there is a rotary embedding.
enum class RotaryUse { kNone, kUsual, kLocal };

// Buckets of distances that occur in a text: all from `first` on, `count` of them.
struct OccurringBuckets {
  at::Tensor places;  // [query, key]: bucket - first
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// What queries and keys meet beside each other: of every bucket of distances, undefined where there are none.
struct DistanceTerms {
  // [B, H, query, key] of queries and keys [B, T, H, d], the queries scaled as for their scores.
  at::Tensor operator()(const at::Tensor& query, const at::Tensor& key, const OccurringBuckets& buckets) const;
  bool defined() const { return keys.defined(); }

  at::Tensor keys;     // [bucket, H, d], W_k E: what queries meet
  at::Tensor queries;  // [bucket, H, d], W_q E, scaled as queries are: what keys meet
};

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
  bool parallel = false;             // the feed-forward net is given what attention is given, not what it adds to
  RotaryUse rotary = RotaryUse::kUsual;
  Slopes slopes;                 // of scores
  DistanceTerms distances;       // of scores
  double score_cap = 0.0;        // 0: none
  double score_factor = 0.0;     // of q k^T; 0: 1 / sqrt(d)
  double residual_factor = 1.0;  // of what each half of the layer adds

  double of_scores() const {
    return score_factor > 0.0 ? score_factor : 1.0 / std::sqrt(static_cast<double>(head_width));
  }
};

struct TransformerLayer {
  TransformerLayer(TensorSource& source, const LayerWeights& weights, const LayerForm& layer_form);

  LayerForm form;
  Norm attention_norm;  // a norm without a scale is not there
  Linear query, key, value, attention_output;
  Norm query_norm, key_norm;   // of each head, or of all side by side
  Norm attention_after;        // of what attention adds
  at::Tensor attention_scale;  // [hidden], or undefined: none
  Norm cross_norm;             // without a scale: no attention to an encoder's output
  Linear cross_query, cross_key, cross_value, cross_output;
  Norm feed_forward_norm;
  Norm feed_forward_after;
  Linear gate;  // without a weight: none
  Linear feed_forward_in, feed_forward_out;
  Linear gate_and_in;             // both as they are stored, where that is as one map; else without a weight
  at::Tensor feed_forward_scale;  // as above
  at::Tensor patch_distances;     // [distances, H], as PatchDistances has it; undefined: none
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
    const bool of_all = norm.scale.defined() && norm.scale.size(0) != form.head_width;
    if (of_all) maps[map] = ops.normed(norm, maps[map]);
    at::Tensor heads = by_head(map);
    if (norm.scale.defined() && !of_all) heads = ops.normed(norm, heads);
    if (form.rotary == RotaryUse::kNone) return heads;
    return form.rotary == RotaryUse::kLocal ? ops.local_rotation(heads) : ops.rotation(heads);
  };
  at::Tensor query = ops.scaled(placed(0, layer.query_norm), form.of_scores());
  at::Tensor key = placed(1, layer.key_norm);
  const at::Tensor context = ops.attend(form, index, std::move(query), std::move(key), by_head(2));
  at::Tensor written = ops.linear(layer.attention_output, context);
  if (layer.attention_after.scale.defined()) written = ops.normed_block(layer.attention_after, written);
  return added(ops, form, std::move(written), layer.attention_scale);
}

// Ops that know what an encoder gave: attend_to_source(form, index, query [B, T, H, d]) gives the context [B, T, H d].
template <typename Ops>
concept SeesSource = requires(Ops& ops, const LayerForm& form, at::Tensor query) {
  { ops.attend_to_source(form, std::size_t{0}, query) } -> std::convertible_to<at::Tensor>;
};

// Adds attention to the source to what self-attention has made of x: the sum that its norm is given (norm after), or
// the residual stream. Gives the same, of this block.
template <SeesSource Ops>
at::Tensor with_cross_attention(Ops& ops, const TransformerLayer& layer, std::size_t index, at::Tensor y) {
  const bool before = layer.form.norm_place == NormPlace::kBefore;
  if (!before) y = ops.normed(layer.attention_norm, y);
  const at::Tensor x = before ? ops.normed(layer.cross_norm, y) : y;
  at::Tensor query = ops.linear(layer.cross_query, x).view({x.size(0), x.size(1), -1, layer.form.head_width});
  query = ops.scaled(query, layer.form.of_scores());
  const at::Tensor context = ops.attend_to_source(layer.form, index, query);
  return ops.residual(y, ops.linear(layer.cross_output, context));
}

template <typename Ops>
at::Tensor feed_forward(Ops& ops, const TransformerLayer& layer, const at::Tensor& x) {
  at::Tensor written = ops.linear(layer.feed_forward_out, ops.ffn_hidden(layer, x));
  written = ops.normed(layer.feed_forward_after, written);
  return added(ops, layer.form, std::move(written), layer.feed_forward_scale);
}

// What follows the last attention block: from the residual stream behind it (norm before), or from the sum that the
// block's norm is given (norm after). Each position by itself.
template <typename Ops>
at::Tensor rest_of_layer(Ops& ops, const TransformerLayer& layer, at::Tensor y) {
  if (layer.form.norm_place == NormPlace::kBefore) {
    return ops.residual(y, feed_forward(ops, layer, ops.normed(layer.feed_forward_norm, y)));
  }
  y = ops.normed(layer.cross_norm.scale.defined() ? layer.cross_norm : layer.attention_norm, y);
  return ops.normed(layer.feed_forward_norm, ops.residual(y, feed_forward(ops, layer, y)));
}

// A layer whose halves are given the same.
template <typename Ops>
at::Tensor run_parallel_layer(Ops& ops, const TransformerLayer& layer, std::size_t index, const at::Tensor& x) {
  const at::Tensor direct = ops.beside_attention(x);
  const at::Tensor written = self_attention(ops, layer, index, ops.normed(layer.attention_norm, x));
  const at::Tensor transformed = feed_forward(ops, layer, ops.normed(layer.feed_forward_norm, direct));
  const at::Tensor y = ops.attended(layer, index, x, ops.residual(direct, written));
  return ops.residual(y, transformed);
}

// [B, T, hidden] to [B, T, hidden]. `index` counts the layers that are run, from 0.
template <typename Ops>
at::Tensor run_layer(Ops& ops, const TransformerLayer& layer, std::size_t index, at::Tensor x) {
  if (layer.form.parallel) return run_parallel_layer(ops, layer, index, x);
  const bool before = layer.form.norm_place == NormPlace::kBefore;
  at::Tensor y = ops.residual(x, self_attention(ops, layer, index, before ? ops.normed(layer.attention_norm, x) : x));
  y = ops.attended(layer, index, x, y);
  x.reset();
  if constexpr (SeesSource<Ops>) {
    if (layer.cross_norm.scale.defined()) y = with_cross_attention(ops, layer, index, std::move(y));
  }
  return rest_of_layer(ops, layer, std::move(y));
}

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_TRANSFORMER_LAYER_H_
