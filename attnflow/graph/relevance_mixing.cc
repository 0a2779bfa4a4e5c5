#include "attnflow/graph/relevance_mixing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnflow/base/fail.h"
#include "attnflow/graph/remove_weights.h"

namespace attnflow {

namespace {

void check_streams(const LayerGradients& gradients) {
  check_layer_gradients(gradients);
  const std::size_t n = gradients.attention.extent(1);
  const Shape& stream = gradients.residual.shape();
  if (stream.size() == 2 && stream[0] == n && gradients.output_gradient.shape() == stream) return;
  fail_with(ErrorKind::kOther,
            "relevance: expected the residual stream [{}, hidden] with a gradient of the same shape, found "
            "{} and {}",
            n, shape_to_string(stream), shape_to_string(gradients.output_gradient.shape()));
}

double stays(const LayerGradients& gradients, std::size_t i) {
  const std::size_t hidden = gradients.residual.extent(1);
  const float* x = gradients.residual.data() + i * hidden;
  const float* g = gradients.output_gradient.data() + i * hidden;
  double dot = 0.0;
  for (std::size_t c = 0; c < hidden; ++c) dot += static_cast<double>(x[c]) * static_cast<double>(g[c]);
  if (!std::isfinite(dot)) {
    fail_with(ErrorKind::kBadFile,
              "layer {}, position {}: expected a residual stream and gradients that are finite, found "
              "some that are not; the model's weights are damaged or overflow in float32",
              gradients.layer, i);
  }
  return dot;
}

// Passes each head's T_ij^h . g_i to `take(entry of [query, key], value)`, with heads in order.
template <typename Take>
void for_each_head(const LayerGradients& gradients, const Take& take) {
  const std::size_t entries = gradients.attention.extent(1) * gradients.attention.extent(1);
  for (std::size_t h = 0; h < gradients.attention.extent(0); ++h) {
    const float* w = gradients.attention.data() + h * entries;
    const float* g = gradients.attention_gradient.data() + h * entries;
    for (std::size_t e = 0; e < entries; ++e) take(e, static_cast<double>(g[e]) * static_cast<double>(w[e]));
  }
}

void remove(Tensor<double>& weights, const WeightRemoval& removal) {
  internal::remove_weights(weights, removal, internal::Diagonal::kStays);
}

double share_of(double negative, double all) { return all == 0.0 ? 0.0 : negative / all; }

void finish(AttentionGraph& graph) {
  graph.residual_rule = ResidualRule::kContainedNormalized;
  const std::size_t n = graph.tokens();
  double largest = 0.0;
  for (std::size_t row = 0; row < graph.layers() * n; ++row) {
    const double* from = graph.weights.data() + row * n;
    largest = std::max(largest, std::accumulate(from, from + n, 0.0));
  }
  if (largest == 0.0) return;
  int exponent = 0;
  std::frexp(largest, &exponent);  // largest = f 2^exponent with 1/2 <= f < 1
  graph.unit = std::ldexp(1.0, exponent);
  for (double& weight : graph.weights.span()) weight = std::ldexp(weight, -exponent);
}

}  // namespace

Tensor<double> signed_relevance(const LayerGradients& gradients) {
  check_streams(gradients);
  const std::size_t n = gradients.attention.extent(1);
  Tensor<double> relevance({n, n});
  for_each_head(gradients, [&](std::size_t entry, double value) { relevance.data()[entry] += value; });
  for (std::size_t i = 0; i < n; ++i) relevance(i, i) += stays(gradients, i);
  return relevance;
}

PositiveRelevance positive_relevance(const LayerGradients& gradients, RelevanceParts parts) {
  PositiveRelevance result;
  const auto count = [&](double value) {
    result.all += std::abs(value);
    if (value < 0.0) result.against -= value;
    return std::max(0.0, value);
  };
  if (parts == RelevanceParts::kTogether) {
    result.weights = signed_relevance(gradients);
    for (double& value : result.weights.span()) value = count(value);
    return result;
  }
  check_streams(gradients);
  const std::size_t n = gradients.attention.extent(1);
  result.weights = Tensor<double>({n, n});
  for_each_head(gradients, [&](std::size_t entry, double value) { result.weights.data()[entry] += count(value); });
  for (std::size_t i = 0; i < n; ++i) result.weights(i, i) += count(stays(gradients, i));
  return result;
}

Tensor<double> feed_forward_shares(const FeedForwardRelevance& relevance, const TokenGroups& groups) {
  if (relevance.through.empty()) return {};
  const std::size_t layers = relevance.through.extent(0);
  Tensor<double> shares({layers, groups.size()});
  for (std::size_t l = 0; l < layers; ++l) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      double through = 0.0;
      double past = 0.0;
      for (const std::size_t position : groups[g]) {
        through += relevance.through(l, position);
        past += relevance.past(l, position);
      }
      shares(l, g) = share_of(through, through + past);
    }
  }
  return shares;
}

void RelevanceGraphSink::keep_feed_forward(const LayerGradients& gradients) {
  const std::size_t n = gradients.attention.extent(1);
  const auto& through = gradients.through_feed_forward;
  const auto& past = gradients.past_feed_forward;
  if (through.empty() && past.empty()) return;
  if (through.shape() != Shape{n} || past.shape() != Shape{n}) {
    fail_with(ErrorKind::kOther, "relevance: expected the relevance of {} feed-forward outputs, found shapes {} and {}",
              n, shape_to_string(through.shape()), shape_to_string(past.shape()));
  }
  const auto are_finite = [](std::span<const float> values) {
    return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  };
  if (!are_finite(through.span()) || !are_finite(past.span())) {
    fail_with(ErrorKind::kBadFile,
              "relevance: expected finite feed-forward relevance, found NaN or infinity in layer {}", gradients.layer);
  }
  if (feed_forward_.through.empty()) {
    feed_forward_ = {Tensor<double>({layers_, n}), Tensor<double>({layers_, n})};
  }
  if (feed_forward_.through.extent(1) != n) return;  // layer() refuses it
  for (std::size_t i = 0; i < n; ++i) {
    feed_forward_.through(gradients.layer - 1, i) = std::abs(static_cast<double>(through(i)));
    feed_forward_.past(gradients.layer - 1, i) = std::abs(static_cast<double>(past(i)));
  }
  ++layers_known_;
}

FeedForwardRelevance RelevanceGraphSink::feed_forward() const {
  return layers_known_ == layers_ ? feed_forward_ : FeedForwardRelevance{};
}

Tensor<double> RelevanceGraphSink::weights(const LayerGradients& gradients) {
  keep_feed_forward(gradients);
  PositiveRelevance relevance = positive_relevance(gradients, parts_);
  negative_ += relevance.against;
  all_ += relevance.all;
  remove(relevance.weights, removal_);
  return std::move(relevance.weights);
}

std::optional<double> RelevanceGraphSink::negative_share() const { return share_of(negative_, all_); }

AttentionGraph RelevanceGraphSink::take() {
  AttentionGraph graph = GraphOfGradientsSink::take();
  finish(graph);
  return graph;
}

}  // namespace attnflow
