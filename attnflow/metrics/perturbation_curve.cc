#include "attnflow/metrics/perturbation_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/base/random.h"

namespace attnflow {

std::vector<std::size_t> importance_order(std::span<const double> values, std::uint64_t seed,
                                          std::span<const double> gaps) {
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!gaps.empty() && gaps.size() != values.size()) {
    throw Error(ErrorKind::kUsage, "importance: expected a gap for each of " + std::to_string(values.size()) +
                                       " values, found " + std::to_string(gaps.size()));
  }
  if (!std::all_of(values.begin(), values.end(), finite) || !std::all_of(gaps.begin(), gaps.end(), finite)) {
    throw Error(ErrorKind::kUsage, "importance: expected finite values and gaps, found others");
  }
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Shuffled first, so that equal values keep a random order.
  Random random(seed);
  random.shuffle(order);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  if (gaps.empty()) return order;
  // highest[i]: the largest upper end of order[i] and those after it. A run ends where it is below all of the run.
  std::vector<double> highest(order.size() + 1, -std::numeric_limits<double>::infinity());
  for (std::size_t i = order.size(); i-- > 0;) {
    highest[i] = std::max(highest[i + 1], values[order[i]] + gaps[order[i]]);
  }
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && highest[end] >= values[order[end - 1]]) ++end;
    std::vector<std::size_t> run(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                 order.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(run.begin(), run.end());
    random.shuffle(run);
    std::copy(run.begin(), run.end(), order.begin() + static_cast<std::ptrdiff_t>(begin));
    begin = end;
  }
  return order;
}

std::vector<std::size_t> curve_points(std::size_t n, std::size_t steps) {
  if (n == 0 || steps == 0) throw Error(ErrorKind::kUsage, "curve: expected at least one patch and one step");
  steps = std::min(steps, n);
  std::vector<std::size_t> points;
  points.reserve(steps + 1);
  const std::size_t whole = n / steps;
  const std::size_t rest = n % steps;
  for (std::size_t j = 0; j <= steps; ++j) points.push_back(j * whole + j * rest / steps);
  return points;
}

double area_under_curve(std::span<const std::size_t> points, std::span<const double> values) {
  if (points.size() < 2 || points.size() != values.size()) {
    throw Error(ErrorKind::kUsage, "curve: expected as many values as points, at least two, found " +
                                       std::to_string(values.size()) + " and " + std::to_string(points.size()));
  }
  double area = 0.0;
  for (std::size_t j = 1; j < points.size(); ++j) {
    area += 0.5 * (values[j] + values[j - 1]) * static_cast<double>(points[j] - points[j - 1]);
  }
  return area / static_cast<double>(points.back());
}

}  // namespace attnflow
