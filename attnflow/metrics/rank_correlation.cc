#include "attnflow/metrics/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "attnflow/base/fail.h"

namespace attnflow {
namespace {

void check_samples(std::span<const double> values, std::span<const double> gaps) {
  if (!gaps.empty() && gaps.size() != values.size()) {
    fail_with(ErrorKind::kUsage, "expected one gap for each of the {} values to rank, or none; found {}", values.size(),
              gaps.size());
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]))
      fail_with(ErrorKind::kUsage, "expected numbers to rank; value {} of {} is NaN: exclude it", i, values.size());
  }
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (!(gaps[i] >= 0 && std::isfinite(gaps[i])))
      fail_with(ErrorKind::kUsage, "expected gaps that are finite and not negative; gap {} is {}", i, gaps[i]);
  }
}

void check_lengths(std::span<const double> first, std::span<const double> second) {
  if (first.size() == second.size()) return;
  fail_with(ErrorKind::kUsage, "expected two vectors of the same length to correlate; found {} and {}", first.size(),
            second.size());
}

// The positions by increasing value, divided into tie groups: group g holds order[begin[g] .. begin[g + 1] - 1].
struct TieGroups {
  std::vector<std::size_t> order;
  std::vector<std::size_t> begin;
};

TieGroups tie_groups(std::span<const double> values, std::span<const double> gaps) {
  check_samples(values, gaps);
  TieGroups groups;
  groups.order.resize(values.size());
  std::iota(groups.order.begin(), groups.order.end(), std::size_t{0});
  std::sort(groups.order.begin(), groups.order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b] || (values[a] == values[b] && a < b); });
  double reach = 0;
  for (std::size_t at = 0; at < groups.order.size(); ++at) {
    const std::size_t i = groups.order[at];
    const double high = gaps.empty() ? values[i] : values[i] + gaps[i];
    if (at == 0 || values[i] > reach) {
      groups.begin.push_back(at);
      reach = high;
    } else {
      reach = std::max(reach, high);
    }
  }
  groups.begin.push_back(values.size());
  return groups;
}

std::size_t count(const TieGroups& groups) { return groups.begin.size() - 1; }

std::vector<double> ranks(const TieGroups& groups, SpearmanFormula formula) {
  std::vector<double> result(groups.order.size());
  for (std::size_t g = 0; g < count(groups); ++g) {
    const std::size_t begin = groups.begin[g];
    const std::size_t end = groups.begin[g + 1];
    const double rank = formula == SpearmanFormula::kDenseRanks ? static_cast<double>(g + 1)
                                                                : 0.5 * static_cast<double>(begin + end + 1);
    for (std::size_t at = begin; at < end; ++at) result[groups.order[at]] = rank;
  }
  return result;
}

double formula_without_ties(const std::vector<double>& first, const std::vector<double>& second) {
  double square = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double difference = first[i] - second[i];
    square += difference * difference;
  }
  const double n = static_cast<double>(first.size());
  return 1 - 6 * square / (n * (n * n - 1));
}

}  // namespace

std::vector<double> average_ranks(std::span<const double> values, std::span<const double> gaps) {
  return ranks(tie_groups(values, gaps), SpearmanFormula::kStandard);
}

std::vector<double> dense_ranks(std::span<const double> values, std::span<const double> gaps) {
  return ranks(tie_groups(values, gaps), SpearmanFormula::kDenseRanks);
}

// The mean of average ranks, (n + 1) / 2, is exact, and deviations from it are multiples of 1/2, so for ranks every sum
// is exact while n^3 / 3 < 2^51. The square root of the rounded square of x is x: equal orders give exactly 1.
std::optional<double> pearson(std::span<const double> first, std::span<const double> second) {
  check_lengths(first, second);
  const auto mean = [](std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  const double first_mean = mean(first);
  const double second_mean = mean(second);
  double product = 0;
  double first_square = 0;
  double second_square = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double a = first[i] - first_mean;
    const double b = second[i] - second_mean;
    product += a * b;
    first_square += a * a;
    second_square += b * b;
  }
  if (!(first_square > 0 && second_square > 0)) return std::nullopt;
  return std::clamp(product / std::sqrt(first_square * second_square), -1.0, 1.0);
}

std::optional<double> spearman(std::span<const double> first, std::span<const double> second,
                               const SpearmanOptions& options) {
  check_lengths(first, second);
  const TieGroups first_groups = tie_groups(first, options.first_gaps);
  const TieGroups second_groups = tie_groups(second, options.second_gaps);
  if (count(first_groups) < 2 || count(second_groups) < 2) return std::nullopt;
  const std::vector<double> first_ranks = ranks(first_groups, options.formula);
  const std::vector<double> second_ranks = ranks(second_groups, options.formula);
  return options.formula == SpearmanFormula::kStandard ? pearson(first_ranks, second_ranks)
                                                       : formula_without_ties(first_ranks, second_ranks);
}

}  // namespace attnflow
