#include "attnflow/rollout/rollout.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "attnflow/graph/layers.h"
#include "attnflow/rollout/capacity_rollout.h"
#include "attnflow/rollout/matrix_product.h"

namespace attnflow {
namespace {

// Computes row <- row A for the layer with these weights, without computing A.
void times_layer(std::vector<double>& row, TensorView<const double> weights, const AttentionGraph& graph) {
  const std::size_t n = row.size();
  const bool convex = graph.residual_rule == ResidualRule::kConvex;
  std::vector<double> of_itself(n, graph.residual);
  for (std::size_t p = 0; !convex && p < n; ++p) {
    const double* from = weights.data() + p * n;
    const RowRule how = row_rule(graph.residual_rule, std::accumulate(from, from + n, 0.0));
    row[p] /= how.divisor;
    of_itself[p] = how.identity;
  }
  Tensor<double> next({1, n});
  multiply(TensorView<const double>(row.data(), {1, n}), weights, next.view());
  const double of_weights = convex ? 1.0 - graph.residual : 1.0;
  for (std::size_t k = 0; k < n; ++k) row[k] = of_weights * next(0, k) + of_itself[k] * row[k];
}

}  // namespace

Tensor<double> rollout(const AttentionGraph& graph, const RolloutOptions& options) {
  const std::vector<std::size_t> layers = resolve_layers(options.layers, options.start_layer, graph.layers());
  const std::size_t n = graph.tokens();
  Tensor<double> result({layers.size(), n, n});
  if (graph.residual_rule == ResidualRule::kContainedNormalized) {
    std::vector<std::size_t> every(n);
    std::iota(every.begin(), every.end(), std::size_t{0});
    for (std::size_t place = 0; place < layers.size(); ++place) {
      const CapacityRollout carried(graph.weights.view(), layers[place], options.start_layer);
      std::copy_n(carried.rows(every, options.threads).data(), n * n, result[place].data());
    }
    return result;
  }
  Tensor<double> below;  // R[l - 1, m]; empty represents the identity, l = m + 1
  std::size_t wanted = 0;
  for (std::size_t l = options.start_layer + 1; l <= layers.back(); ++l) {
    // The first factor is copied, not multiplied by the identity, so that R[l, l-1] is A_l to the bit.
    const auto times_below = [&](Tensor<double> a) {
      if (below.empty()) return a;
      Tensor<double> product({n, n});
      multiply(a.view(), below.view(), product.view(), options.threads);
      return product;
    };
    const bool is_wanted = layers[wanted] == l;
    Tensor<double> top;
    if (is_wanted) {
      top = times_below(graph.top(l));
      std::copy_n(top.data(), n * n, result.data() + wanted * n * n);
      ++wanted;
    }
    if (l == layers.back()) break;
    below = is_wanted && !graph.one_head() ? std::move(top) : times_below(graph.below(l));
  }
  return result;
}

std::vector<double> rollout_row(const AttentionGraph& graph, std::size_t output_token, std::size_t layer,
                                std::size_t start_layer) {
  resolve_layers({layer}, start_layer, graph.layers());
  const std::size_t n = graph.tokens();
  check_output_token(output_token, n);
  if (graph.residual_rule == ResidualRule::kContainedNormalized) {
    const Tensor<double> found = CapacityRollout(graph.weights.view(), layer, start_layer).rows({output_token});
    return {found.data(), found.data() + n};
  }
  const Tensor<double>& below = graph.one_head() ? graph.weights_below : graph.weights;
  std::vector<double> row(n);
  const double* weights = graph.weights[layer - 1].data() + output_token * n;
  if (graph.residual_rule == ResidualRule::kConvex) {
    const double rho = graph.residual;
    for (std::size_t k = 0; k < n; ++k) row[k] = (1.0 - rho) * weights[k];
    row[output_token] += rho;
  } else {
    std::copy_n(weights, n, row.data());
    const RowRule how = row_rule(graph.residual_rule, std::accumulate(row.begin(), row.end(), 0.0));
    row[output_token] += how.identity;
    for (double& value : row) value /= how.divisor;
  }
  for (std::size_t l = layer - 1; l > start_layer; --l) times_layer(row, below[l - 1], graph);
  return row;
}

RolloutSink::RolloutSink(MixingOptions options, LayerFunction done, std::size_t threads)
    : options_(std::move(options)), done_(std::move(done)), threads_(threads) {
  if (options_.heads == HeadFusion::kSingle) {
    throw Error(ErrorKind::kUsage,
                "streaming rollout: expected heads fused by mean, max or min, found a single head; "
                "collect the layers with a GraphSink instead");
  }
}

void RolloutSink::layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) {
  const std::size_t n = attention.extent(2);
  if (query_begin != 0 || attention.extent(1) != n) {
    throw Error(ErrorKind::kOther,
                "streaming rollout needs whole layers, but attention came in chunks of queries; "
                "collect the chunks with a StackSink");
  }
  fused_layer(layer, fused_weights(attention, options_).view());
}

void RolloutSink::fused_layer(std::size_t layer, TensorView<const double> weights) {
  Tensor<double> mixed = add_residual(weights, options_.residual);
  if (product_.empty()) {
    product_ = std::move(mixed);
  } else {
    Tensor<double> product(mixed.shape());
    multiply(mixed.view(), product_.view(), product.view(), threads_);
    product_ = std::move(product);
  }
  if (done_) done_(layer, product_.view());
}

}  // namespace attnflow
