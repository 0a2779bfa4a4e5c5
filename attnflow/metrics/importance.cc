#include "attnflow/metrics/importance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "attnflow/base/fail.h"

namespace attnflow {
namespace {

void check(std::string_view what, TensorView<const float> values) {
  if (values.rank() != 2 || values.empty()) {
    fail_with(ErrorKind::kUsage,
              "expected the {} as [token, width] with at least one token and one "
              "dimension; found shape {}",
              what, shape_to_string(values.shape()));
  }
  const auto bad = std::find_if(values.span().begin(), values.span().end(), [](float x) { return !std::isfinite(x); });
  if (bad != values.span().end()) {
    const auto token = static_cast<std::size_t>(bad - values.span().begin()) / values.extent(1);
    fail_with(ErrorKind::kUsage, "expected a finite {}; that of token {} holds {}: the model overflowed", what, token,
              *bad);
  }
}

std::span<const float> token(TensorView<const float> values, std::size_t index) {
  return values.span().subspan(index * values.extent(1), values.extent(1));
}

}  // namespace

std::vector<double> blank_out_importance(double base, std::span<const double> blanked) {
  std::vector<double> scores;
  scores.reserve(blanked.size());
  for (const double value : blanked) {
    const double score = std::abs(base - value);
    if (!std::isfinite(score)) {
      fail_with(ErrorKind::kUsage,
                "expected finite outputs; found {} for the whole input and {} with "
                "token {} replaced",
                base, value, scores.size());
    }
    scores.push_back(score);
  }
  return scores;
}

std::vector<double> gradient_norm(TensorView<const float> gradient) {
  check("gradient", gradient);
  std::vector<double> scores(gradient.extent(0));
  for (std::size_t j = 0; j < scores.size(); ++j) {
    double square = 0;
    for (const double g : token(gradient, j)) square += g * g;
    scores[j] = std::sqrt(square);
  }
  return scores;
}

std::vector<double> gradient_times_input(TensorView<const float> gradient, TensorView<const float> embedding,
                                         Sign sign) {
  check("gradient", gradient);
  check("embedding", embedding);
  if (gradient.shape() != embedding.shape()) {
    fail_with(ErrorKind::kUsage, "expected gradient and embedding of the same shape; found {} and {}",
              shape_to_string(gradient.shape()), shape_to_string(embedding.shape()));
  }
  std::vector<double> scores(gradient.extent(0));
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const std::span<const float> g = token(gradient, j);
    const std::span<const float> e = token(embedding, j);
    double sum = 0;
    for (std::size_t d = 0; d < g.size(); ++d) sum += static_cast<double>(g[d]) * static_cast<double>(e[d]);
    scores[j] = sign == Sign::kAbsolute ? std::abs(sum) : sum;
  }
  return scores;
}

GradientSum gradient_sum(TensorView<const float> gradient) {
  check("gradient", gradient);
  GradientSum result;
  result.scores.resize(gradient.extent(0));
  double largest_size = 0;
  for (std::size_t j = 0; j < result.scores.size(); ++j) {
    double sum = 0;
    double size = 0;
    for (const double g : token(gradient, j)) {
      sum += g;
      size += std::abs(g);
    }
    result.scores[j] = std::abs(sum);
    result.largest = std::max(result.largest, result.scores[j]);
    largest_size = std::max(largest_size, size);
  }
  // 2^-23 = 2 u, the spacing of float32 numbers around 1.
  result.noise_bound = 0x1p-23 * std::sqrt(static_cast<double>(gradient.extent(1))) * largest_size;
  result.is_rounding_noise = result.largest <= kNoiseFactor * result.noise_bound;
  return result;
}

}  // namespace attnflow
