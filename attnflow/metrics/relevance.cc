#include "attnflow/metrics/relevance.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "attnflow/base/fail.h"

namespace attnflow {
namespace {

// The effect of a NaN on a maximum would depend on its position.
void check_numbers(TensorView<const double> values) {
  for (const double value : values.span()) {
    if (std::isnan(value)) throw Error(ErrorKind::kUsage, "expected values and gaps that are numbers; found NaN");
  }
}

void check_relevance(TensorView<const double> values, const RelevanceOptions& options) {
  if (values.rank() != 2 || values.extent(0) == 0) {
    fail_with(ErrorKind::kUsage,
              "expected values of shape [output_token, input_token] with at least one "
              "output token; found shape {}",
              shape_to_string(values.shape()));
  }
  if (options.kind == RelevanceKind::kOutputToken && options.output_token >= values.extent(0))
    fail_with(ErrorKind::kUsage, "expected an output token below {}; found {}", values.extent(0), options.output_token);
  check_numbers(values);
}

std::vector<double> of_output_token(TensorView<const double> values, std::size_t output_token) {
  const TensorView<const double> chosen = values[output_token];
  return {chosen.span().begin(), chosen.span().end()};
}

template <typename Fold>
std::vector<double> folded(TensorView<const double> values, const Fold& fold) {
  std::vector<double> result = of_output_token(values, 0);
  for (std::size_t i = 1; i < values.extent(0); ++i) {
    for (std::size_t j = 0; j < result.size(); ++j) result[j] = fold(result[j], values(i, j));
  }
  return result;
}

}  // namespace

Relevance relevance(TensorView<const double> values, const RelevanceOptions& options) {
  check_relevance(values, options);
  switch (options.kind) {
    case RelevanceKind::kOutputToken:
      return {of_output_token(values, options.output_token), {}};
    case RelevanceKind::kMaximum:
      return {folded(values, [](double a, double b) { return std::max(a, b); }), {}};
    case RelevanceKind::kSum:
      return {folded(values, std::plus<>()), {}};
  }
  fail_with(ErrorKind::kUsage, "no relevance has number {}", static_cast<int>(options.kind));
}

Relevance relevance(TensorView<const double> values, TensorView<const double> gaps, const RelevanceOptions& options) {
  if (values.shape() != gaps.shape()) {
    fail_with(ErrorKind::kUsage, "expected one gap for each value; found shapes {} and {}",
              shape_to_string(values.shape()), shape_to_string(gaps.shape()));
  }
  check_numbers(gaps);
  Relevance result = relevance(values, options);
  if (options.kind != RelevanceKind::kMaximum) {
    result.gaps = relevance(gaps, options).values;
    return result;
  }
  result.gaps.assign(result.values.size(), 0.0);
  for (std::size_t i = 0; i < values.extent(0); ++i) {
    for (std::size_t j = 0; j < result.gaps.size(); ++j) {
      // A unique output token with the largest value gives exactly its gap, without rounding.
      result.gaps[j] = std::max(result.gaps[j], gaps(i, j) - (result.values[j] - values(i, j)));
    }
  }
  return result;
}

std::vector<double> select(std::span<const double> values, const std::vector<bool>& keep) {
  if (values.size() != keep.size()) {
    fail_with(ErrorKind::kUsage, "expected one mark for each of the {} values to select from; found {}", values.size(),
              keep.size());
  }
  std::vector<double> selected;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (keep[i]) selected.push_back(values[i]);
  }
  return selected;
}

Relevance select(const Relevance& relevance, const std::vector<bool>& keep) {
  Relevance selected{select(relevance.values, keep), {}};
  if (!relevance.gaps.empty()) selected.gaps = select(relevance.gaps, keep);
  return selected;
}

}  // namespace attnflow
