#include "attnflow/model/torch/autograd_ops.h"

#include <ATen/CPUGeneratorImpl.h>

#include "attnflow/model/torch/decoder_attention.h"

namespace attnflow::internal {

Dropout::Dropout(double probability, std::uint64_t seed)
    : probability_(probability), generator_(at::detail::createCPUGenerator(seed)) {}

at::Tensor Dropout::operator()(const at::Tensor& x) {
  if (probability_ <= 0.0) return x;
  const double kept = 1.0 - probability_;
  const at::Tensor mask = at::empty(x.sizes(), x.options().requires_grad(false)).bernoulli_(kept, generator_);
  return x * mask.mul_(1.0 / kept);
}

std::vector<at::Tensor> AutogradOps::linear(const std::vector<const Linear*>& maps, const at::Tensor& x) const {
  std::vector<at::Tensor> results;
  for (const Linear* map : maps) results.push_back(linear(*map, x));
  return results;
}

at::Tensor AutogradOps::active(const at::Tensor& z, Activation activation) const {
  if (rule == BackwardRule::kGradient) return activate(z, activation);
  const at::Tensor fixed = z.detach();
  return z * (activate(fixed, activation) / fixed).masked_fill_(fixed == 0, 0.0);
}

at::Tensor AutogradOps::capped(const at::Tensor& x, double cap) const {
  if (rule == BackwardRule::kGradient) return at::tanh(x / cap) * cap;
  const at::Tensor fixed = x.detach();
  return x * (at::tanh(fixed / cap) * cap / fixed).masked_fill_(fixed == 0, 1.0);
}

at::Tensor AutogradOps::halved(const at::Tensor& product) const {
  if (rule == BackwardRule::kGradient) return product;
  // The value is the product's, the gradient half of the product's.
  return product * 0.5 + product.detach() * 0.5;
}

// Under AttnLRP's rule, a number beyond the limit passes no relevance on, as it has no gradient.
at::Tensor AutogradOps::gated(at::Tensor gate, at::Tensor inside, const LayerForm& form) const {
  if (form.gate_limit > 0.0) {
    gate = at::clamp_max(gate, form.gate_limit);
    inside = at::clamp(inside, -form.gate_limit, form.gate_limit) + 1.0;
  }
  return product(active(gate, form.activation), inside);
}

at::Tensor AutogradOps::ffn_hidden(const FeedForwardMaps& maps, const LayerForm& form, const at::Tensor& x) const {
  if (!maps.gate.defined()) return activated(maps.in, x, form.activation);
  if (maps.gate_and_in.defined()) {  // one product, forward and backward, instead of two
    const std::vector<at::Tensor> halves = linear(maps.gate_and_in, x).chunk(2, -1);
    return gated(halves[0], halves[1], form);
  }
  return gated(linear(maps.gate, x), linear(maps.in, x), form);
}

at::Tensor AutogradOps::attend(const LayerForm& form, std::size_t /*index*/, const at::Tensor& query,
                               const at::Tensor& key, const at::Tensor& value) const {
  const std::int64_t count = query.size(0);
  const std::int64_t n = query.size(1);
  const std::int64_t heads = form.heads;
  const std::int64_t groups = form.key_value_heads;
  const std::int64_t width = form.head_width;
  // [B, G, H / G, T, d] and [B, G, 1, T, d]: heads that share keys are adjacent.
  const at::Tensor queries = query.transpose(1, 2).reshape({count, groups, heads / groups, n, width});
  const at::Tensor keys = key.transpose(1, 2).unsqueeze(2);
  at::Tensor scores = halved(at::matmul(queries, keys.transpose(3, 4)));
  if (form.score_cap > 0.0) scores = capped(scores, form.score_cap);
  if (form.slopes.defined()) {
    const at::Tensor positions = at::arange(n, scores.options().requires_grad(false));
    scores = scores + form.slopes(positions, 0, heads).view({groups, heads / groups, 1, n});
  }
  if (form.distances.defined()) scores = scores + form.distances(query, key, distance_buckets).unsqueeze(2);
  if (score_bias.defined()) scores = scores + score_bias.unsqueeze(1);
  if (padding.defined()) scores = scores + padding;
  if (causal) {
    at::Tensor mask = at::zeros({n, n}, scores.options().requires_grad(false));
    apply_causal_mask(mask, 0, 0, form.window);
    scores = scores + mask;
  }
  const at::Tensor attention =
      softmax_beside(scores, form.sinks.defined() ? form.sinks.view({groups, heads / groups, 1, 1}) : form.sinks);
  if (tap != nullptr) tap->weights = attention;
  const at::Tensor context = halved(at::matmul(attention, value.transpose(1, 2).unsqueeze(2)));
  return context.reshape({count, heads, n, width}).transpose(1, 2).reshape({count, n, heads * width});
}

}  // namespace attnflow::internal
