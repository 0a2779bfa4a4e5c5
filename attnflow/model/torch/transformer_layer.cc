#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

Linear::Linear(TensorSource& source, const LinearWeights& weights) {
  if (weights.weight == nullptr) return;
  const auto part_of = [&](const at::Tensor& all) {
    const std::int64_t out = to_signed(weights.out);
    if (all.size(0) == out) return all;  // as for a bias of its own
    if (weights.groups > 1) {
      const std::int64_t groups = to_signed(weights.groups);
      return all.unflatten(0, {groups, -1}).narrow(1, to_signed(weights.begin), out / groups).flatten(0, 1);
    }
    return all.narrow(0, to_signed(weights.begin), out);
  };
  const auto map_of = [&](const StoredTensor& stored) {
    const at::Tensor& all = source.get(stored);
    return weights.expert ? all.select(0, to_signed(*weights.expert)) : all;
  };
  if (weights.bias != nullptr) bias = part_of(map_of(*weights.bias).flatten());  // BART stores it as [1, out]
  if (WeightRows::are(source, weights)) {
    rows = c10::make_intrusive<WeightRows>(source, weights, bias);
    return;
  }
  const at::Tensor stored = map_of(*weights.weight);
  weight = part_of(weights.layout == MatrixLayout::kOutIn ? stored : stored.t());
}

Linear Linear::whole() const {
  Linear map = *this;
  if (rows.defined()) map.weight = rows->whole();
  map.rows.reset();
  return map;
}

Norm::Norm(TensorSource& source, const NormWeights& weights, double epsilon)
    : scale(source.find(weights.scale)), shift(source.find(weights.shift)), eps(epsilon) {
  if (weights.kind == NormKind::kLayerNoShift) shift = at::zeros_like(scale);
  if (weights.kind == NormKind::kRmsPlusOne) scale = scale + 1.0;
}

at::Tensor Norm::operator()(const at::Tensor& x) const {
  if (!scale.defined()) return x;
  if (shift.defined()) return at::layer_norm(x, scale.sizes(), scale, shift, eps);
  return x * factor(x) * scale;
}

at::Tensor Norm::factor(const at::Tensor& x) const { return at::rsqrt((x * x).mean(-1, /*keepdim=*/true) + eps); }

at::Tensor Norm::with_constant_sigma(const at::Tensor& x) const {
  if (!scale.defined()) return x;
  const at::Tensor centered = shift.defined() ? x - x.mean(-1, /*keepdim=*/true) : x;
  const at::Tensor fixed = centered.detach();
  const at::Tensor scaled = centered * factor(fixed) * scale;
  return shift.defined() ? scaled + shift : scaled;
}

at::Tensor Rotation::operator()(const at::Tensor& x) const {
  if (!cos.defined()) return x;
  const std::int64_t half = cos.size(-1);
  const at::Tensor part = x.narrow(-1, 0, 2 * half);
  const at::Tensor pairs = neighbors ? part.unflatten(-1, {half, 2}) : part.unflatten(-1, {2, half});
  const std::int64_t side = neighbors ? -1 : -2;
  const at::Tensor first = pairs.select(side, 0);
  const at::Tensor second = pairs.select(side, 1);
  const at::Tensor turned = at::stack({first * cos - second * sin, second * cos + first * sin}, side).flatten(-2);
  if (2 * half == x.size(-1)) return turned;
  return at::cat({turned, x.narrow(-1, 2 * half, x.size(-1) - 2 * half)}, -1);
}

at::Tensor DistanceTerms::operator()(const at::Tensor& query, const at::Tensor& key,
                                     const OccurringBuckets& buckets) const {
  // [B, H, T, bucket], for the buckets that occur.
  const auto met = [&](const at::Tensor& x, const at::Tensor& table) {
    return at::matmul(x.transpose(1, 2), table.narrow(0, buckets.first, buckets.count).permute({1, 2, 0}));
  };
  const auto chosen = [&](const at::Tensor& all, const at::Tensor& index) {
    return at::gather(all, -1, index.expand({all.size(0), all.size(1), index.size(0), index.size(1)}));
  };
  return chosen(met(query, keys), buckets.places) + chosen(met(key, queries), buckets.places.t()).transpose(2, 3);
}

at::Tensor Slopes::operator()(const at::Tensor& positions, std::int64_t first, std::int64_t count) const {
  const at::Tensor products = of_heads.narrow(0, first, count).view({-1, 1, 1}) * positions.to(of_heads.scalar_type());
  return products.to(at::kFloat) * factor;
}

at::Tensor activate(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kTanh:
      return at::tanh(x);
    case Activation::kQuickGelu:
      return x * at::sigmoid(x * 1.702);
  }
  return x;
}

Routing choose_experts(const at::Tensor& scores, const LayerForm& form) {
  const auto [highest, experts] = at::topk(scores, form.chosen_experts, -1);
  // Normalized weights are the softmax over the chosen scores.
  const at::Tensor weights =
      form.normalized_experts ? at::softmax(highest, -1) : at::softmax(scores, -1).gather(-1, experts);
  return {experts.to(at::kCPU), weights};
}

LayerForm::LayerForm(const ModelConfig& config)
    : norm_place(config.architecture->norm_place),
      activation(config.activation),
      norm_eps(config.norm_eps),
      heads(to_signed(config.heads)),
      key_value_heads(to_signed(config.key_value_heads)),
      head_width(to_signed(config.head_width)),
      parallel(config.parallel),
      score_cap(config.score_cap),
      score_factor(config.score_factor),
      residual_factor(config.residual_factor),
      gate_limit(config.architecture->gate_limit),
      chosen_experts(to_signed(config.chosen_experts)),
      normalized_experts(config.normalized_experts) {}

TransformerLayer::TransformerLayer(TensorSource& source, const LayerWeights& weights, const LayerForm& layer_form)
    : form(layer_form) {
  struct Taker {
    TensorSource& source;
    const LayerForm& form;
    void operator()(Linear& to, const LinearWeights& from) const { to = Linear(source, from); }
    void operator()(Norm& to, const NormWeights& from) const { to = Norm(source, from, form.norm_eps); }
    void operator()(at::Tensor& to, const StoredTensor* from) const { to = source.find(from); }
  } const take = {source, form};
  std::apply([&](auto&... to) { std::apply([&](const auto&... from) { (take(to, from), ...); }, all(weights)); },
             all(*this));
  if (weights.query.groups > 1) source.forget(*weights.query.weight);  // its parts are copies
  for (const ExpertParts<LinearWeights>& expert : weights.experts) {
    experts.push_back({Linear(source, expert.gate), Linear(source, expert.in), Linear(source, expert.out)});
  }
  if (!weights.experts.empty() && weights.experts.front().gate.groups > 1) {
    source.forget(*weights.experts.front().gate.weight);
  }
  if (weights.gate.weight != nullptr && weights.gate.weight == weights.feed_forward_in.weight) {
    gate_and_in = Linear(source, weights.gate.rows(0, weights.gate.out + weights.feed_forward_in.out));
  }
}

}  // namespace attnflow::internal
