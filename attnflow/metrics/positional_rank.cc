#include "attnflow/metrics/positional_rank.h"

#include <algorithm>
#include <cmath>

#include "attnflow/base/fail.h"
#include "attnflow/metrics/evidence_rank.h"
#include "attnflow/metrics/statistics.h"

namespace attnflow {
namespace {

// Returns a sample's values by place, divided by the sum of their absolute values; all-zero values stay zero.
std::vector<double> by_place(const RankedWords& sample, PlaceFrom from) {
  double sum = 0.0;
  for (const double value : sample.values) {
    if (!std::isfinite(value)) fail_with(ErrorKind::kUsage, "evidence: expected finite values, found {}", value);
    sum += std::abs(value);
  }
  std::vector<double> values = sample.values;
  if (sum > 0.0) {
    for (double& value : values) value /= sum;
  }
  if (from == PlaceFrom::kEnd) std::reverse(values.begin(), values.end());
  return values;
}

struct Place {
  double sum = 0.0;
  std::size_t count = 0;
};

}  // namespace

std::vector<double> positional_reciprocal_ranks(std::span<const RankedWords> samples, PlaceFrom from) {
  std::vector<std::vector<double>> all;
  std::vector<Place> places;
  for (const RankedWords& sample : samples) {
    all.push_back(by_place(sample, from));
    if (all.back().size() > places.size()) places.resize(all.back().size());
    for (std::size_t p = 0; p < all.back().size(); ++p) {
      places[p].sum += all.back()[p];
      ++places[p].count;
    }
  }
  std::vector<double> ranks(samples.size(), kMissing);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const std::size_t words = all[s].size();
    if (words == 0) continue;
    if (samples[s].word >= words)
      fail_with(ErrorKind::kUsage, "evidence: expected a word from 0 to below {}, found {}", words, samples[s].word);
    std::vector<double> baseline(words);
    for (std::size_t p = 0; p < words; ++p) {
      // Below every mean, which lies in [-1, 1].
      constexpr double kLast = -2.0;
      const std::size_t others = places[p].count - 1;
      baseline[p] = others == 0 ? kLast : (places[p].sum - all[s][p]) / static_cast<double>(others);
    }
    const std::size_t word = from == PlaceFrom::kEnd ? words - 1 - samples[s].word : samples[s].word;
    ranks[s] = expected_reciprocal_rank(baseline, word);
  }
  return ranks;
}

}  // namespace attnflow
