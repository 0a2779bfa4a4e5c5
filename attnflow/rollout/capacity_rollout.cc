#include "attnflow/rollout/capacity_rollout.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attnflow/rollout/matrix_product.h"

namespace attnflow {

CapacityRollout::CapacityRollout(TensorView<const double> weights, std::size_t layer, std::size_t start_layer)
    : weights_(weights), layer_(layer), start_layer_(start_layer) {
  const std::size_t n = weights.extent(2);
  for (std::size_t k = start_layer + 1; k <= layer; ++k) {
    Step made{std::vector<double>(n), std::vector<double>(n, 1.0), std::vector<double>(n)};
    std::vector<double> arriving(n);
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = 0; q < n; ++q) {
        made.carried[p] += weight(k, p, q);
        arriving[q] += weight(k, p, q);
      }
    }
    if (k > start_layer + 1) {
      for (std::size_t q = 0; q < n; ++q) {
        if (arriving[q] > 0.0) made.enters[q] = std::min(1.0, steps_.back().carried[q] / arriving[q]);
      }
    }
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = 0; q < n; ++q) made.divisors[p] += weight(k, p, q) * made.enters[q];
    }
    steps_.push_back(std::move(made));
  }
}

double CapacityRollout::weight(std::size_t k, std::size_t p, std::size_t q) const {
  const double found = weights_(k - 1, p, q);
  return std::isfinite(found) ? found : 0.0;
}

double CapacityRollout::share(std::size_t k, std::size_t p, std::size_t q) const {
  const double all = step(k).divisors[p];
  return all > 0.0 ? weight(k, p, q) * step(k).enters[q] / all : 0.0;
}

void CapacityRollout::pass(std::size_t k, Tensor<double>& rows, std::size_t threads) const {
  const Step& now = step(k);
  const std::size_t n = rows.extent(1);
  for (std::size_t row = 0; row < rows.extent(0); ++row) {
    for (std::size_t p = 0; p < n; ++p) {
      double& mass = rows(row, p);
      mass = now.divisors[p] > 0.0 ? std::min(mass, now.carried[p]) / now.divisors[p] : 0.0;
    }
  }
  Tensor<double> next(rows.shape());
  multiply(std::as_const(rows).view(), weights_[k - 1], next.view(), threads);
  for (std::size_t row = 0; row < rows.extent(0); ++row) {
    for (std::size_t q = 0; q < n; ++q) next(row, q) *= now.enters[q];
  }
  rows = std::move(next);
}

Tensor<double> CapacityRollout::rows(const std::vector<std::size_t>& output_tokens, std::size_t threads) const {
  const std::size_t n = weights_.extent(2);
  Tensor<double> rows({output_tokens.size(), n});
  for (std::size_t row = 0; row < output_tokens.size(); ++row) {
    rows(row, output_tokens[row]) = carried(layer_, output_tokens[row]);
  }
  for (std::size_t k = layer_; k > start_layer_; --k) pass(k, rows, threads);
  for (std::size_t row = 0; row < output_tokens.size(); ++row) {
    double* const values = rows[row].data();
    const double sum = std::accumulate(values, values + n, 0.0);
    if (sum > 0.0) {
      for (std::size_t q = 0; q < n; ++q) values[q] /= sum;
    } else {
      values[output_tokens[row]] = 1.0;
    }
  }
  return rows;
}

}  // namespace attnflow
