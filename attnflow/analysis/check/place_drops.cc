#include "attnflow/analysis/check/place_drops.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attnflow/base/figures.h"
#include "attnflow/evaluate/rank_correlation.h"

namespace attnflow {
namespace {

struct WeightedMean {
  double mean = 0.0;
  double error = 0.0;  // standard error
};

// Averages the drops of every `step`th replacement from `first` on.
WeightedMean mean_drop(double value, const std::vector<TriedReplacement>& tried, std::size_t first = 0,
                       std::size_t step = 1) {
  double weights = 0.0;
  double sum = 0.0;
  for (std::size_t c = first; c < tried.size(); c += step) {
    weights += tried[c].fit;
    sum += tried[c].fit * (value - tried[c].value);
  }
  if (!(weights > 0.0)) return {};
  WeightedMean result{.mean = sum / weights};
  double squares = 0.0;
  double squared_weights = 0.0;
  for (std::size_t c = first; c < tried.size(); c += step) {
    const double off = tried[c].fit * (value - tried[c].value - result.mean);
    squares += off * off;
    squared_weights += tried[c].fit * tried[c].fit;
  }
  // For as many equal weights as these amount to; one alone says nothing of its error.
  const double effective = weights * weights / squared_weights;
  constexpr double kMoreThanOne = 1.0 + 1e-6;
  result.error =
      effective < kMoreThanOne ? std::abs(result.mean) : std::sqrt(squares * effective / (effective - 1.0)) / weights;
  return result;
}

}  // namespace

void summarize_drop(PlaceDrop& place, double value) {
  // A model may overflow with some.
  std::erase_if(place.tried, [](const TriedReplacement& one) { return !std::isfinite(one.value); });
  const WeightedMean mean = mean_drop(value, place.tried);
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
    odd.push_back(mean_drop(check.value, place.tried, 0, 2).mean);
    even.push_back(mean_drop(check.value, place.tried, 1, 2).mean);
  }
  if (odd.size() < kFewestPlaces) return std::nullopt;
  const std::optional<double> half = pearson(odd, even);
  if (!half) return std::nullopt;
  return *half <= 0.0 ? 0.0 : 2.0 * *half / (1.0 + *half);
}

}  // namespace attnflow
