#include "attnflow/graph/relevance_mixing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnflow/base/error.h"
#include "attnflow/graph/remove_weights.h"

namespace attnflow {

Tensor<double> signed_relevance(const LayerGradients& gradients) {
  check_layer_gradients(gradients);
  const std::size_t heads = gradients.attention.extent(0);
  const std::size_t n = gradients.attention.extent(1);
  const Shape& stream = gradients.residual.shape();
  if (stream.size() != 2 || stream[0] != n || gradients.output_gradient.shape() != stream) {
    throw Error(ErrorKind::kOther,
                fmt::format("relevance: expected the residual stream [{}, hidden] with a gradient of the same shape, "
                            "found {} and {}",
                            n, shape_to_string(stream), shape_to_string(gradients.output_gradient.shape())));
  }
  Tensor<double> relevance({n, n});
  for (std::size_t h = 0; h < heads; ++h) {
    const float* w = gradients.attention.data() + h * n * n;
    const float* g = gradients.attention_gradient.data() + h * n * n;
    for (std::size_t e = 0; e < n * n; ++e) {
      relevance.data()[e] += static_cast<double>(g[e]) * static_cast<double>(w[e]);
    }
  }
  const std::size_t hidden = stream[1];
  for (std::size_t i = 0; i < n; ++i) {
    const float* x = gradients.residual.data() + i * hidden;
    const float* g = gradients.output_gradient.data() + i * hidden;
    double dot = 0.0;
    for (std::size_t c = 0; c < hidden; ++c) dot += static_cast<double>(x[c]) * static_cast<double>(g[c]);
    if (!std::isfinite(dot)) {
      throw Error(ErrorKind::kBadFile,
                  fmt::format("layer {}, position {}: expected a residual stream and gradients that are finite, found "
                              "some that are not; the model's weights are damaged or overflow in float32",
                              gradients.layer, i));
    }
    relevance(i, i) += dot;
  }
  return relevance;
}

Tensor<double> RelevanceGraphSink::weights(const LayerGradients& gradients) {
  Tensor<double> relevance = signed_relevance(gradients);
  for (double& value : relevance.span()) {
    all_ += std::abs(value);
    if (value < 0.0) negative_ -= value;
    value = std::max(0.0, value);
  }
  internal::remove_weights(relevance, removal_, internal::Diagonal::kStays);
  return relevance;
}

std::optional<double> RelevanceGraphSink::negative_share() const { return all_ == 0.0 ? 0.0 : negative_ / all_; }

AttentionGraph RelevanceGraphSink::take() {
  AttentionGraph graph = GraphOfGradientsSink::take();
  graph.residual_rule = ResidualRule::kContainedNormalized;
  const std::size_t n = graph.tokens();
  double largest = 0.0;
  for (std::size_t row = 0; row < graph.layers() * n; ++row) {
    const double* from = graph.weights.data() + row * n;
    largest = std::max(largest, std::accumulate(from, from + n, 0.0));
  }
  if (largest == 0.0) return graph;
  int exponent = 0;
  std::frexp(largest, &exponent);  // largest = f 2^exponent with 1/2 <= f < 1
  graph.unit = std::ldexp(1.0, exponent);
  for (double& weight : graph.weights.span()) weight = std::ldexp(weight, -exponent);
  return graph;
}

}  // namespace attnflow
