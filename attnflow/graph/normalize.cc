#include "attnflow/graph/normalize.h"

#include <numeric>

namespace attnflow {

std::vector<double> normalize_rows(TensorView<double> values) {
  const std::size_t rows = values.extent(0);
  const std::size_t n = values.extent(1);
  std::vector<double> divisors(rows, 1.0);
  for (std::size_t i = 0; i < rows; ++i) {
    double* row = values.data() + i * n;
    const double sum = std::accumulate(row, row + n, 0.0);
    if (sum == 0.0) continue;
    divisors[i] = sum;
    for (std::size_t j = 0; j < n; ++j) row[j] /= sum;
  }
  return divisors;
}

ReceptiveField normalize_receptive_field(TensorView<double> values, TensorView<const double> baseline) {
  assert(values.shape() == baseline.shape());
  const std::size_t n = values.extent(1);
  ReceptiveField result{Tensor<double>(values.shape()), 0};
  for (std::size_t e = 0; e < values.size(); ++e) {
    double& value = values.data()[e];
    if (baseline.data()[e] >= kSmallestBaseline) {
      result.scale.data()[e] = 1.0 / baseline.data()[e];
      value /= baseline.data()[e];
    } else {
      if (value > 0.0) ++result.flagged;
      value = 0.0;
    }
  }
  const std::vector<double> divisors = normalize_rows(values);
  for (std::size_t e = 0; e < values.size(); ++e) result.scale.data()[e] /= divisors[e / n];
  return result;
}

Tensor<double> sum_columns(TensorView<const double> values, const TokenGroups& groups) {
  const std::size_t rows = values.extent(0);
  Tensor<double> merged({rows, groups.size()});
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const std::size_t j : groups[g]) merged(i, g) += values(i, j);
    }
  }
  return merged;
}

Tensor<double> average_rows(TensorView<const double> values, const TokenGroups& groups) {
  const std::size_t n = values.extent(1);
  Tensor<double> merged({groups.size(), n});
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const std::size_t i : groups[g]) {
      for (std::size_t j = 0; j < n; ++j) merged(g, j) += values(i, j);
    }
    for (std::size_t j = 0; j < n; ++j) merged(g, j) /= static_cast<double>(groups[g].size());
  }
  return merged;
}

}  // namespace attnflow
