#include "attnflow/metrics/evidence_rank.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "attnflow/base/fail.h"

namespace attnflow {
namespace {

double mean_reciprocal(std::size_t first, std::size_t count) {
  double sum = 0.0;
  for (std::size_t r = first; r < first + count; ++r) sum += 1.0 / static_cast<double>(r);
  return sum / static_cast<double>(count);
}

}  // namespace

double expected_reciprocal_rank(std::span<const double> values, std::size_t word, std::span<const double> gaps) {
  if (word >= values.size())
    fail_with(ErrorKind::kUsage, "evidence: expected a word from 0 to below {}, found {}", values.size(), word);
  if (!gaps.empty() && gaps.size() != values.size())
    fail_with(ErrorKind::kUsage, "evidence: expected {} gaps, one a value, found {}", values.size(), gaps.size());
  std::size_t before = 0;
  std::size_t ties = 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]))
      fail_with(ErrorKind::kUsage, "evidence: expected finite values, found {}", values[i]);
    if (i == word) continue;
    const double mine = gaps.empty() ? 0.0 : gaps[word];
    const double other = gaps.empty() ? 0.0 : gaps[i];
    if (values[i] > values[word] + mine) {
      ++before;
    } else if (values[i] + other >= values[word]) {
      ++ties;
    }
  }
  return mean_reciprocal(before + 1, ties);
}

double random_reciprocal_rank(std::size_t n) {
  assert(n >= 1);
  return mean_reciprocal(1, n);
}

}  // namespace attnflow
