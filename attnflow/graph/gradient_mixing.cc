#include "attnflow/graph/gradient_mixing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnflow/base/fail.h"
#include "attnflow/graph/remove_weights.h"

namespace attnflow {
namespace {

void check_both(TensorView<const float> attention, TensorView<const float> gradient) {
  const Shape& shape = attention.shape();
  if (shape.size() != 3 || attention.empty() || shape[1] != shape[2] || gradient.shape() != shape) {
    fail_with(ErrorKind::kOther,
              "gradient mixing: expected attention [head, query, key] of as many queries as keys with a "
              "gradient of the same shape, found {} and {}",
              shape_to_string(shape), shape_to_string(gradient.shape()));
  }
  // Checked before anything is multiplied or clipped, because a maximum would hide a NaN. Written so that NaN fails.
  for (const float w : attention.span()) {
    if (!(w >= 0.0F && std::isfinite(w))) {
      fail_with(ErrorKind::kBadFile,
                "expected attention weights that are finite and at least 0, found {}; "
                "the model's weights are damaged or overflow in float32",
                w);
    }
  }
  for (const float g : gradient.span()) {
    if (!std::isfinite(g)) {
      fail_with(ErrorKind::kBadFile,
                "expected gradients of attention that are finite, found {}; the "
                "model's weights are damaged or overflow in float32",
                g);
    }
  }
}

}  // namespace

Tensor<double> gradient_weights(TensorView<const float> attention, TensorView<const float> gradient,
                                const GradientMixingOptions& options) {
  check_both(attention, gradient);
  const std::size_t heads = attention.extent(0);
  const std::size_t n = attention.extent(1);
  Tensor<double> weights({n, n});
  for (std::size_t h = 0; h < heads; ++h) {
    const float* w = attention.data() + h * n * n;
    const float* g = gradient.data() + h * n * n;
    for (std::size_t e = 0; e < n * n; ++e) {
      weights.data()[e] += std::max(0.0, static_cast<double>(g[e]) * static_cast<double>(w[e]));
    }
  }
  for (double& weight : weights.span()) weight /= static_cast<double>(heads);
  internal::remove_weights(weights, options.removal, internal::Diagonal::kGoes);
  return weights;
}

void check_layer_gradients(const LayerGradients& gradients) {
  check_both(gradients.attention, gradients.attention_gradient);
}

void GraphOfGradientsSink::layer(const LayerGradients& gradients) {
  const std::size_t layer = gradients.layer;
  if (layer < 1 || layer > layers_ || seen_[layer - 1]) {
    fail_with(ErrorKind::kOther, "gradient mixing: expected each layer from 1 to {} once, found layer {}{}", layers_,
              layer, layer < 1 || layer > layers_ ? "" : " again");
  }
  const Tensor<double> found = weights(gradients);
  const std::size_t n = found.extent(0);
  if (graph_.weights.empty()) graph_.weights = Tensor<double>({layers_, n, n});
  if (n != graph_.tokens()) {
    fail_with(ErrorKind::kOther,
              "gradient mixing: expected {} tokens in every layer, found {} in layer "
              "{}",
              graph_.tokens(), n, layer);
  }
  std::copy_n(found.data(), n * n, graph_.weights.data() + (layer - 1) * n * n);
  seen_[layer - 1] = true;
}

AttentionGraph GraphOfGradientsSink::take() {
  const auto missing = std::find(seen_.begin(), seen_.end(), false);
  if (layers_ == 0 || missing != seen_.end()) {
    fail_with(ErrorKind::kOther,
              "gradient mixing: expected attention and gradients of {} layers, found none of layer {}", layers_,
              missing - seen_.begin() + 1);
  }
  seen_.assign(layers_, false);
  return std::exchange(graph_, {});
}

GradientGraphSink::GradientGraphSink(std::size_t layers, GradientMixingOptions options)
    : GraphOfGradientsSink(layers), options_(std::move(options)) {
  if (options_.residual_rule == ResidualRule::kAdded || options_.residual_rule == ResidualRule::kAddedNormalized)
    return;
  throw Error(ErrorKind::kUsage,
              "gradient mixing: expected the identity to be added to the weights (I + G), with or without dividing "
              "rows by their sums, found another rule, such as (1 - rho) G + rho I, in which rho would have no "
              "meaning: rows of G do not sum to 1");
}

Tensor<double> GradientGraphSink::weights(const LayerGradients& gradients) {
  return gradient_weights(gradients.attention, gradients.attention_gradient, options_);
}

AttentionGraph GradientGraphSink::take() {
  AttentionGraph graph = GraphOfGradientsSink::take();
  graph.residual_rule = options_.residual_rule;
  return graph;
}

AttentionGraph spread_evenly(const AttentionGraph& graph, const AttentionMask& mask) {
  const std::size_t n = graph.tokens();
  AttentionGraph even;
  even.residual = graph.residual;
  even.residual_rule = graph.residual_rule;
  even.unit = graph.unit;
  const bool contained =
      graph.residual_rule == ResidualRule::kContained || graph.residual_rule == ResidualRule::kContainedNormalized;
  const auto spread = [&](const Tensor<double>& weights) {
    Tensor<double> result(weights.shape());
    for (std::size_t row = 0; row < weights.size() / n; ++row) {
      const std::size_t query = row % n;
      const double* from = weights.data() + row * n;
      const double stays = contained ? from[query] : 0.0;
      const AttentionMask::Keys keys = mask.keys(row / n + 1, query, n);
      const std::size_t seen = keys.size() - (contained && keys.contains(query) ? 1 : 0);
      if (seen > 0) {
        const double share = (std::accumulate(from, from + n, 0.0) - stays) / static_cast<double>(seen);
        std::fill_n(result.data() + row * n + keys.begin, keys.size(), share);
      }
      if (contained) result.data()[row * n + query] = stays;
    }
    return result;
  };
  even.weights = spread(graph.weights);
  if (graph.one_head()) even.weights_below = spread(graph.weights_below);
  return even;
}

}  // namespace attnflow
