#include "attnflow/analysis/check/replacement_check.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "attnflow/analysis/explain/blank_token.h"
#include "attnflow/attribution/probabilities.h"
#include "attnflow/model/prediction.h"

namespace attnflow {
namespace {

constexpr std::size_t kFitting = 50;  // tokens after the text whose probability says how well a replacement fits

// The `count` outputs with the largest logits for which `admits` holds, the largest first; of equal ones, the first.
template <typename Admits>
std::vector<std::size_t> most_probable(std::span<const float> logits, std::size_t count, const Admits& admits) {
  std::vector<std::size_t> places(logits.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const auto before = [&](std::size_t a, std::size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::vector<std::size_t> found;
  auto from = places.begin();
  while (found.size() < count && from != places.end()) {
    const auto end = from + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(count), places.end() - from);
    std::partial_sort(from, end, places.end(), before);
    for (; from != end && found.size() < count; ++from) {
      if (admits(*from)) found.push_back(*from);
    }
  }
  return found;
}

double fit_of(std::span<const float> logits, std::span<const std::size_t> fitting) {
  const std::vector<double> probabilities = softmax(logits);
  double kept = 0.0;
  for (const std::size_t id : fitting) kept += probabilities[id];
  return kept;
}

struct WeightedMean {
  double mean = 0.0;
  double error = 0.0;  // standard error
};

// Averages the drops of every `step`th replacement from `first` on.
WeightedMean mean_drop(double value, const std::vector<Replacement>& tried, std::size_t first = 0,
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
  for (std::size_t c = first; c < tried.size(); c += step) {
    const double off = tried[c].fit * (value - tried[c].value - result.mean);
    squares += off * off;
  }
  result.error = std::sqrt(squares) / weights;
  return result;
}

std::optional<double> correlation(std::span<const double> a, std::span<const double> b) {
  const auto mean = [](std::span<const double> x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  };
  const double ma = mean(a);
  const double mb = mean(b);
  double ab = 0.0;
  double aa = 0.0;
  double bb = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - ma) * (b[i] - mb);
    aa += (a[i] - ma) * (a[i] - ma);
    bb += (b[i] - mb) * (b[i] - mb);
  }
  if (aa == 0.0 || bb == 0.0) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

// Split halves, stepped up to the whole number of replacements.
std::optional<double> reliability_of(double value, const std::vector<PlaceDrop>& places) {
  constexpr std::size_t kFewest = 3;
  std::vector<double> odd;
  std::vector<double> even;
  for (const PlaceDrop& place : places) {
    if (place.tried.size() < 2) continue;
    odd.push_back(mean_drop(value, place.tried, 0, 2).mean);
    even.push_back(mean_drop(value, place.tried, 1, 2).mean);
  }
  if (odd.size() < kFewest) return std::nullopt;
  const std::optional<double> half = correlation(odd, even);
  if (!half) return std::nullopt;
  return *half <= 0.0 ? 0.0 : 2.0 * *half / (1.0 + *half);
}

class Replacer {
 public:
  Replacer(Decoder& decoder, const TextCodec& codec, const std::vector<std::int64_t>& ids, const ScoreTarget& target,
           const ReplacementOptions& options)
      : decoder_(decoder), codec_(codec), ids_(ids), target_(target), options_(options) {
    decoder_.clear();
    const Tensor<float> logits = append(ids_);
    value = target_value(target_, logits.span());
    fitting_ = most_probable(logits.span(), kFitting, [](std::size_t) { return true; });
  }

  // Replaces positions [begin, end). The cache must hold the text at least up to `begin`.
  PlaceDrop replace(std::size_t begin, std::size_t end) {
    const Tensor<float> before = logits_before(begin);
    const std::vector<std::size_t> candidates = most_probable(before.span(), options_.candidates, [&](std::size_t id) {
      const auto one = static_cast<std::int64_t>(id);
      return one != ids_[begin] && !codec_.is_special(one);
    });
    PlaceDrop place;
    for (const std::size_t candidate : candidates) {
      if (options_.stop_token.stop_requested()) throw Cancelled();
      std::vector<std::int64_t> rest = {static_cast<std::int64_t>(candidate)};
      rest.insert(rest.end(), ids_.begin() + static_cast<std::ptrdiff_t>(end), ids_.end());
      decoder_.rewind(begin);
      const Tensor<float> logits = append(rest);
      place.tried.push_back(
          {.id = rest.front(), .fit = fit_of(logits.span(), fitting_), .value = target_value(target_, logits.span())});
    }
    const WeightedMean mean = mean_drop(value, place.tried);
    place.drop = mean.mean;
    place.spread = mean.error;
    return place;
  }

  double value = 0.0;  // F(x)

 private:
  Tensor<float> append(const std::vector<std::int64_t>& ids) {
    return decoder_.append(ids, nullptr, options_.stop_token);
  }

  // Leaves the text before `begin` in the cache.
  Tensor<float> logits_before(std::size_t begin) {
    if (begin > 0) {
      decoder_.rewind(begin - 1);
      return append({ids_[begin - 1]});
    }
    decoder_.clear();
    const std::optional<BlankToken> end = try_find_blank_token(codec_, decoder_.info());
    Tensor<float> logits = append({end ? end->id : ids_.front()});
    decoder_.clear();
    return logits;
  }

  Decoder& decoder_;
  const TextCodec& codec_;
  const std::vector<std::int64_t>& ids_;
  const ScoreTarget& target_;
  const ReplacementOptions& options_;
  std::vector<std::size_t> fitting_;
};

}  // namespace

ReplacementCheck check_by_replacement(Decoder& decoder, const TextCodec& codec, const std::vector<std::int64_t>& ids,
                                      const ScoreTarget& target, const TokenGroups& groups,
                                      const std::vector<bool>& wanted, const ReplacementOptions& options) {
  Replacer replacer(decoder, codec, ids, target, options);
  ReplacementCheck result;
  result.value = replacer.value;
  result.places.resize(groups.size());
  const auto all = static_cast<std::size_t>(std::count(wanted.begin(), wanted.end(), true));
  std::size_t done = 0;
  if (options.progress) options.progress(0, all);
  // From the last to the first, so that the text before each is in the cache.
  for (std::size_t g = groups.size(); g-- > 0;) {
    if (!wanted[g]) continue;
    result.places[g] = replacer.replace(groups[g].front(), groups[g].back() + 1);
    if (options.progress) options.progress(++done, all);
  }
  result.reliability = reliability_of(result.value, result.places);
  return result;
}

}  // namespace attnflow
