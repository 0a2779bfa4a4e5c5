#include "attnflow/analysis/check/place_drops.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attnflow/base/figures.h"
#include "attnflow/metrics/rank_correlation.h"

namespace attnflow {
namespace {

struct WeightedMean {
  double mean = 0.0;
  double error = 0.0;  // standard error
};

// Averages the drops of every `step`th replacement from `first` on.
WeightedMean mean_drop(const ReplacementCheck& check, const PlaceDrop& place, std::size_t first = 0,
                       std::size_t step = 1) {
  const std::vector<TriedReplacement>& tried = place.tried;
  double weights = 0.0;
  double own_weights = 0.0;
  double sum = 0.0;
  for (std::size_t c = first; c < tried.size(); c += step) {
    weights += tried[c].fit;
    own_weights += check.own_weight;
    sum += tried[c].fit * (check.value - tried[c].value);
  }
  if (!(weights > 0.0)) return {};
  const double mean = sum / weights;
  const double shrink = weights / (weights + own_weights);
  double squares = 0.0;
  double squared_weights = 0.0;
  for (std::size_t c = first; c < tried.size(); c += step) {
    const double off = tried[c].fit * (check.value - tried[c].value - mean);
    squares += off * off;
    squared_weights += tried[c].fit * tried[c].fit;
  }
  // For as many equal weights as these amount to; one alone says nothing of its error.
  const double effective = weights * weights / squared_weights;
  constexpr double kMoreThanOne = 1.0 + 1e-6;
  const double error =
      effective < kMoreThanOne ? std::abs(mean) : std::sqrt(squares * effective / (effective - 1.0)) / weights;
  return {.mean = shrink * mean, .error = error};
}

}  // namespace

void summarize_drop(ReplacementCheck& check, std::size_t at) {
  PlaceDrop& place = check.places[at];
  // A model may overflow with some.
  std::erase_if(place.tried, [](const TriedReplacement& one) { return !std::isfinite(one.value); });
  const WeightedMean mean = mean_drop(check, place);
  place.drop = mean.mean;
  place.spread = mean.error;
}

std::vector<bool> may_decide(const ReplacementCheck& check) {
  constexpr double kErrors = 2.0;
  double least = 0.0;
  for (const PlaceDrop& place : check.places) {
    least = std::max(least, internal::figures::kDecisiveShare * (place.drop - kErrors * place.spread));
  }
  std::vector<bool> may(check.places.size());
  for (std::size_t p = 0; p < may.size(); ++p) {
    const PlaceDrop& place = check.places[p];
    may[p] = !place.tried.empty() && place.drop + kErrors * place.spread >= least;
  }
  return may;
}

std::optional<double> reliability_of(const ReplacementCheck& check) {
  constexpr std::size_t kFewestPlaces = 3;
  std::vector<double> odd;
  std::vector<double> even;
  for (const PlaceDrop& place : check.places) {
    if (place.tried.size() < 2) continue;
    odd.push_back(mean_drop(check, place, 0, 2).mean);
    even.push_back(mean_drop(check, place, 1, 2).mean);
  }
  if (odd.size() < kFewestPlaces) return std::nullopt;
  const std::optional<double> half = pearson(odd, even);
  if (!half) return std::nullopt;
  return *half <= 0.0 ? 0.0 : 2.0 * *half / (1.0 + *half);
}

}  // namespace attnflow
