// The Transformer layer of every architecture, written once for all ways of computing it.
//
// Definition. A layer adds two terms to the residual stream x: self-attention, by which a position takes in information
// from others, and a feed-forward network (FFN) for each position by itself. With N a layer norm or an RMS norm,
//   norm before (ViT, GPT-2, Llama)   x' = x + attention(N(x)),   x'' = x' + ffn(N(x'))
//   norm after (BERT)                 x' = N(x + attention(x)),   x'' = N(x' + ffn(x'))
//   in parallel (GPT-NeoX, GPT-J)     x'' = x + attention(N(x)) + ffn(N'(x)), where N' may be N
// The decoder of an encoder-decoder adds a third term in between: attention whose keys and values are maps of the
// encoder's output, normalized like the others.
// With H heads of d numbers, of which G have their own keys and values (head h uses those of key-value head h G / H),
//   attention(x) = W_o [.., softmax(q_h k_h^T / sqrt(d) + mask) v_h, ..]   q, k, v linear maps of x; q and k normalized
//                                                                          per head (Qwen 3) and rotated by position
//                                                                          if positions are rotary
//   ffn(x) = W_out act(W_in x), or with a gate W_out (act(W_gate x) * W_in x)
//   or, with E experts, sum_e p_e(x) ffn_e(x) over the k of them with the highest scores r = W_r x; p = softmax(r) over
//   all E, or over the chosen k, so that their weights sum to 1
// A head's softmax may have one more score, a learned number that belongs to no token (a sink, gpt-oss): its share of
// the attention goes nowhere. With a gate and a limit c (gpt-oss), the hidden numbers are
// act(min(W_gate x, c)) * (max(-c, min(W_in x, c)) + 1).
// Each term may be scaled, elementwise (layer scale) or by one factor (Granite), and normalized before it is added
// (Gemma 2; OLMo 2, which has no norm before). Scores s may be capped, c tanh(s / c) (Gemma 2), and grow with the key's
// position, with a slope for each head (ALiBi: BLOOM, Falcon).
//
// DeBERTa's scores have two more terms. With E_b the normalized embedding of the distances in bucket b
// (distance_bucket.h),
//   s_ij = (q_i . k_j + q_i . W_k E_b + k_j . W_q E_b) / sqrt(3 d)   b the bucket of i - j
// where W_q and W_k are the layer's own maps to queries and keys, with their biases, or separate maps (the first
// DeBERTa, which does not normalize E_b).
//
// `Ops` is a policy that defines how the steps are computed, for x [B, T, hidden], B sequences of T tokens. It also
// receives x and x + attention (attended()).
//   BlockedOps (blocked_ops.h)    one sequence, in place, cut into blocks that threads share: fast
//   AutogradOps (autograd_ops.h)  padded batches, in a form that libtorch can differentiate
//
// References:
//   Vaswani et al., Attention Is All You Need, NeurIPS 2017. https://arxiv.org/abs/1706.03762
//   Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021. https://arxiv.org/abs/2104.09864
//   He et al., DeBERTa: Decoding-enhanced BERT with Disentangled Attention, ICLR 2021. https://arxiv.org/abs/2006.03654
//   Ainslie et al., GQA: Training Generalized Multi-Query Transformer Models, EMNLP 2023.
//     https://arxiv.org/abs/2305.13245
//   Jiang et al., Mixtral of Experts, 2024. https://arxiv.org/abs/2401.04088
#pragma once

#include <ATen/ATen.h>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "attnflow/model/architecture.h"
#include "attnflow/model/layer_weights.h"
#include "attnflow/model/model_config.h"
#include "attnflow/model/torch/tensor_source.h"
#include "attnflow/model/torch/weight_rows.h"

namespace attnflow::internal {

// y = x W^T + b. Tensors are views of the stored ones, regardless of layout.
struct Linear {
  Linear() = default;
  Linear(TensorSource& source, const LinearWeights& weights);

  bool defined() const { return weight.defined() || rows.defined(); }  // if not, there is no such map
  Linear whole() const;                                                // with a weight

  at::Tensor weight;                    // [out, in], unless there are `rows`
  at::Tensor bias;                      // [out], or undefined: none
  c10::intrusive_ptr<WeightRows> rows;  // dequantized for each product
};

struct Norm {
  Norm() = default;
  Norm(TensorSource& source, const NormWeights& weights, double epsilon);
  at::Tensor operator()(const at::Tensor& x) const;  // returns x itself if there is no norm
  // Returns 1 / sigma of an RMS norm, [.., 1].
  at::Tensor factor(const at::Tensor& x) const;
  // Returns the same value, but the gradient treats sigma as a constant (BackwardRule::kAttnLrp).
  at::Tensor with_constant_sigma(const at::Tensor& x) const;

  at::Tensor scale;  // undefined: no norm
  at::Tensor shift;  // undefined: RMS norm
  double eps = 0.0;
};

// cos and sin of the angles of T positions, [T, 1, w / 2], by which the first w numbers of a head are rotated in pairs:
// i and i + w / 2, or 2 i and 2 i + 1. Undefined without a rotary embedding.
struct Rotation {
  // x is [.., T, heads, d].
  at::Tensor operator()(const at::Tensor& x) const;

  at::Tensor cos;
  at::Tensor sin;
  bool neighbors = false;
};

at::Tensor activate(const at::Tensor& x, Activation activation);

// ALiBi: scores grow with the position of the key, with a slope for each head.
struct Slopes {
  // Returns the terms added to the scores of `count` heads from `first` on, [count, 1, T], for keys at `positions` [T].
  at::Tensor operator()(const at::Tensor& positions, std::int64_t first, std::int64_t count) const;
  bool defined() const { return of_heads.defined(); }

  at::Tensor of_heads;  // [H]; undefined: none. Products are rounded to this type
  double factor = 1.0;  // multiplies these products
};

enum class RotaryUse { kNone, kUsual, kLocal };

// The distance buckets that occur in a text: `count` of them, from `first` on.
struct OccurringBuckets {
  at::Tensor places;  // [query, key]: bucket - first
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Additional terms of the scores from the embedding of every distance bucket; undefined if there are none.
struct DistanceTerms {
  // Returns [B, H, query, key] for queries and keys [B, T, H, d], with the queries scaled as for their scores.
  at::Tensor operator()(const at::Tensor& query, const at::Tensor& key, const OccurringBuckets& buckets) const;
  bool defined() const { return keys.defined(); }

  at::Tensor keys;     // [bucket, H, d], W_k E: multiplied by queries
  at::Tensor queries;  // [bucket, H, d], W_q E, scaled as queries are: multiplied by keys
};

// Properties of a layer that its weights do not determine.
struct LayerForm {
  // The properties that all layers of a model share.
  explicit LayerForm(const ModelConfig& config);

  NormPlace norm_place;
  Activation activation;
  double norm_eps;
  std::int64_t heads;            // H
  std::int64_t key_value_heads;  // G
  std::int64_t head_width;       // d
  bool parallel;                 // the feed-forward network has the same input as attention, not attention's sum
  double score_cap;              // 0: none
  double score_factor;           // of q k^T
  double residual_factor;        // of the output of each half of the layer
  double gate_limit;             // with a gate: c; 0: none
  std::int64_t chosen_experts;   // of a token, if there are experts
  bool normalized_experts;       // their weights sum to 1

  // These vary between layers or hold tensors.
  std::int64_t window = 0;  // causal: positions that a query sees, including itself; 0: all before it
  RotaryUse rotary = RotaryUse::kUsual;
  Slopes slopes;            // added to scores
  DistanceTerms distances;  // added to scores
  at::Tensor sinks;         // [H]: one more score for each head, which belongs to no token; undefined: none
};

// The maps of one feed-forward network, the layer's or an expert's.
struct FeedForwardMaps {
  const Linear& gate;
  const Linear& in;
  const Linear& out;
  const Linear& gate_and_in;
};

// A layer's parts as libtorch tensors. A map without a weight, a norm without a scale or an undefined tensor is absent.
struct TransformerLayer : LayerParts<Linear, Norm, at::Tensor> {
  TransformerLayer(TensorSource& source, const LayerWeights& weights, const LayerForm& layer_form);

  FeedForwardMaps feed_forward() const { return {gate, feed_forward_in, feed_forward_out, gate_and_in}; }

  LayerForm form;
  Linear gate_and_in;  // both as stored, if that is one map; else without a weight
};

// The experts of each of n tokens, and what their outputs are multiplied by: [n, chosen].
struct Routing {
  at::Tensor experts;  // on the host
  at::Tensor weights;
};
// `scores` is [n, experts].
Routing choose_experts(const at::Tensor& scores, const LayerForm& form);

// The output of half of a layer, multiplied by its scale if defined.
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
  at::Tensor query = ops.scaled(placed(0, layer.query_norm), form.score_factor);
  at::Tensor key = placed(1, layer.key_norm);
  const at::Tensor context = ops.attend(form, index, std::move(query), std::move(key), by_head(2));
  at::Tensor written = ops.linear(layer.attention_output, context);
  if (layer.attention_after.scale.defined()) written = ops.normed_block(layer.attention_after, written);
  return added(ops, form, std::move(written), layer.attention_scale);
}

// Ops that have an encoder's output: attend_to_source(form, index, query [B, T, H, d]) returns the context [B, T, H d];
// attended_to_source(layer, index, y, z) receives the residual stream before and after that block, and returns z.
template <typename Ops>
concept SeesSource = requires(Ops& ops, const TransformerLayer& layer, at::Tensor query) {
  { ops.attend_to_source(layer.form, std::size_t{0}, query) } -> std::convertible_to<at::Tensor>;
  { ops.attended_to_source(layer, std::size_t{0}, query, query) } -> std::convertible_to<at::Tensor>;
};

// Adds attention to the source. With norm before, y and the result are the residual stream before and after this block.
// With norm after, both still lack a norm: y that of self-attention, the result that of this block.
template <SeesSource Ops>
at::Tensor with_cross_attention(Ops& ops, const TransformerLayer& layer, std::size_t index, at::Tensor y) {
  const bool before = layer.form.norm_place == NormPlace::kBefore;
  if (!before) y = ops.normed(layer.attention_norm, y);
  const at::Tensor x = before ? ops.normed(layer.cross_norm, y) : y;
  at::Tensor query = ops.linear(layer.cross_query, x).view({x.size(0), x.size(1), -1, layer.form.head_width});
  query = ops.scaled(query, layer.form.score_factor);
  const at::Tensor context = ops.attend_to_source(layer.form, index, query);
  return ops.attended_to_source(layer, index, y, ops.residual(y, ops.linear(layer.cross_output, context)));
}

template <typename Ops>
at::Tensor feed_forward_of(Ops& ops, const LayerForm& form, const FeedForwardMaps& maps, const at::Tensor& x) {
  return ops.linear(maps.out, ops.ffn_hidden(maps, form, x));
}

// Each expert runs once, for all tokens that chose it. Results are added in the order of the experts.
template <typename Ops>
at::Tensor mixture_of_experts(Ops& ops, const TransformerLayer& layer, const at::Tensor& x) {
  const at::Tensor tokens = x.flatten(0, -2);
  const Routing routing = choose_experts(ops.linear(layer.router, tokens), layer.form);
  const at::Tensor weights = routing.weights.flatten();
  const at::Tensor sum = at::zeros_like(tokens);
  const Linear apart;  // gate and in are stored separately
  for (std::size_t e = 0; e < layer.experts.size(); ++e) {
    const at::Tensor chosen = at::flatten(routing.experts == to_signed(e)).nonzero().flatten().to(x.device());
    if (chosen.numel() == 0) continue;
    const at::Tensor who = at::floor_divide(chosen, layer.form.chosen_experts);
    const ExpertParts<Linear>& expert = layer.experts[e];
    const at::Tensor written =
        feed_forward_of(ops, layer.form, {expert.gate, expert.in, expert.out, apart}, tokens.index_select(0, who));
    sum.index_add_(0, who, ops.product(written, weights.index_select(0, chosen).unsqueeze(1)));
  }
  return sum.view(x.sizes());
}

template <typename Ops>
at::Tensor feed_forward(Ops& ops, const TransformerLayer& layer, const at::Tensor& x) {
  at::Tensor written = layer.experts.empty() ? feed_forward_of(ops, layer.form, layer.feed_forward(), x)
                                             : mixture_of_experts(ops, layer, x);
  written = ops.normed(layer.feed_forward_after, written);
  return added(ops, layer.form, std::move(written), layer.feed_forward_scale);
}

// Adds the output of the feed-forward net to the stream that passes it by. Ops may look at both.
template <typename Ops>
at::Tensor with_feed_forward(Ops& ops, const at::Tensor& passed, const at::Tensor& written) {
  at::Tensor sum = ops.residual(passed, written);
  if constexpr (requires { ops.see_feed_forward(passed, written, sum); }) ops.see_feed_forward(passed, written, sum);
  return sum;
}

// The part after the last attention block, from the residual stream after it (norm before) or from the input of the
// block's norm (norm after). Each position is processed separately.
template <typename Ops>
at::Tensor rest_of_layer(Ops& ops, const TransformerLayer& layer, at::Tensor y) {
  if (layer.form.norm_place == NormPlace::kBefore) {
    return with_feed_forward(ops, y, feed_forward(ops, layer, ops.normed(layer.feed_forward_norm, y)));
  }
  y = ops.normed(layer.cross_norm.scale.defined() ? layer.cross_norm : layer.attention_norm, y);
  return ops.normed(layer.feed_forward_norm, with_feed_forward(ops, y, feed_forward(ops, layer, y)));
}

// A layer whose halves have the same input.
template <typename Ops>
at::Tensor run_parallel_layer(Ops& ops, const TransformerLayer& layer, std::size_t index, const at::Tensor& x) {
  const at::Tensor direct = ops.beside_attention(x);
  const at::Tensor written = self_attention(ops, layer, index, ops.normed(layer.attention_norm, x));
  const at::Tensor transformed = feed_forward(ops, layer, ops.normed(layer.feed_forward_norm, direct));
  const at::Tensor y = ops.attended(layer, index, x, ops.residual(direct, written));
  return with_feed_forward(ops, y, transformed);
}

// Maps [B, T, hidden] to [B, T, hidden]. `index` counts the layers that run, from 0.
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
