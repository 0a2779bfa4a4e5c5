#include "attnflow/explain/pooled_output.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace attnflow {
namespace {

// With a further column of zeros and, last, a row: of_column(layer, column).
template <typename T, typename OfColumn>
void extend(Tensor<T>& values, bool alone, const OfColumn& of_column) {
  if (values.empty()) return;
  const std::size_t rows = values.extent(1);
  const std::size_t columns = values.extent(2);
  Tensor<T> extended({values.extent(0), alone ? 1 : rows + 1, columns + 1});
  const std::size_t last = extended.extent(1) - 1;
  for (std::size_t l = 0; l < values.extent(0); ++l) {
    for (std::size_t i = 0; i < last; ++i) {
      for (std::size_t j = 0; j < columns; ++j) extended(l, i, j) = values(l, i, j);
    }
    for (std::size_t j = 0; j < columns; ++j) extended(l, last, j) = of_column(l, j);
  }
  values = std::move(extended);
}

}  // namespace

std::vector<double> pooled_weights(const AttentionGraph& graph, Method method, std::size_t layer,
                                   const TokenGroups& outputs) {
  const bool is_amount = graph.residual_rule == ResidualRule::kContainedNormalized;
  const bool by_amount = is_amount && method == Method::kRollout;
  std::vector<double> weights;
  for (const std::vector<std::size_t>& output : outputs) {
    double weight = by_amount ? 0.0 : static_cast<double>(output.size());
    for (const std::size_t i : output) {
      const auto row = graph.weights[layer - 1][i].span();
      if (by_amount) weight += std::accumulate(row.begin(), row.end(), 0.0);
    }
    weights.push_back(weight);
  }
  if (is_amount && !by_amount) return weights;
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!(sum > 0.0)) {  // nothing is carried: rows of the identity, all alike
    std::fill(weights.begin(), weights.end(), 1.0);
    sum = static_cast<double>(weights.size());
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

void add_pooled_output(Attribution& found, const AttentionGraph& graph, const TokenGroups& outputs, bool alone) {
  std::vector<std::vector<double>> weights;
  for (const std::size_t layer : found.layers) {
    weights.push_back(pooled_weights(graph, found.method, layer, outputs));
  }
  const auto mean_of = [&](const Tensor<double>& values) {
    return [&](std::size_t l, std::size_t j) {
      double sum = 0.0;
      for (std::size_t i = 0; i < outputs.size(); ++i) sum += weights[l][i] * values(l, i, j);
      return sum;
    };
  };
  extend(found.degenerate, alone, [&](std::size_t l, std::size_t j) {
    for (std::size_t i = 1; i < outputs.size(); ++i) {
      if (found.degenerate(l, i, j) == 0) return std::uint8_t{0};
    }
    return found.degenerate(l, 0, j);
  });
  for (Tensor<double>* const values : {&found.values, &found.gap, &found.baseline}) {
    extend(*values, alone, mean_of(*values));
  }
}

}  // namespace attnflow
