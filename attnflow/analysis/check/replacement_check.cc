#include "attnflow/analysis/check/replacement_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "attnflow/analysis/check/replacements.h"
#include "attnflow/attribution/probabilities.h"
#include "attnflow/model/prediction.h"

namespace attnflow {
namespace {

constexpr std::size_t kFitting = 11;  // predicted tokens whose probability says how well a replacement fits

double probability_of(std::span<const float> logits, std::span<const std::size_t> chosen) {
  const std::vector<double> probabilities = softmax(logits);
  double kept = 0.0;
  for (const std::size_t id : chosen) kept += probabilities[id];
  return kept;
}

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
  constexpr std::size_t kFewestPlaces = 3;
  std::vector<double> odd;
  std::vector<double> even;
  for (const PlaceDrop& place : places) {
    if (place.tried.size() < 2) continue;
    odd.push_back(mean_drop(value, place.tried, 0, 2).mean);
    even.push_back(mean_drop(value, place.tried, 1, 2).mean);
  }
  if (odd.size() < kFewestPlaces) return std::nullopt;
  const std::optional<double> half = correlation(odd, even);
  if (!half) return std::nullopt;
  return *half <= 0.0 ? 0.0 : 2.0 * *half / (1.0 + *half);
}

// The input with a candidate in the place of a group, which may have more tokens than it.
TextInput replaced(const TextInput& input, const std::vector<std::size_t>& group,
                   const internal::Candidate& candidate) {
  TextInput result = input;
  const auto put = [&](std::vector<std::int64_t>& values, std::size_t count, const auto& value) {
    if (values.empty()) return;
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(group.front());
    values.erase(at + static_cast<std::ptrdiff_t>(count), at + static_cast<std::ptrdiff_t>(group.size()));
    for (std::size_t i = 0; i < count; ++i) values[group.front() + i] = value(i);
  };
  const std::int64_t type = input.type_ids.empty() ? 0 : input.type_ids[group.front()];
  put(result.ids, candidate.size(), [&](std::size_t i) { return candidate[i]; });
  put(result.type_ids, candidate.size(), [&](std::size_t) { return type; });
  return result;
}

// The text as far as the prediction sees it, and where it is made: the last token, if nothing is said.
struct Read {
  TextInput input;
  std::optional<std::size_t> position;
};

Read read_text(const ReplacementQuestion& question) {
  // Replaced words may be shorter.
  if (internal::predicts_next(question.model.info()) && question.target.position) {
    return {question.input.up_to(*question.target.position), std::nullopt};
  }
  return {question.input, question.target.position};
}

struct Text {
  std::size_t place = 0;  // a group
  std::size_t number = 0;
};

}  // namespace

std::size_t replacement_tokens(const ReplacementQuestion& question, std::size_t group, std::size_t replacements) {
  const std::size_t n = read_text(question).input.ids.size();
  return replacements *
         (internal::predicts_next(question.model.info()) ? n - std::min(n, question.groups[group].front()) : n);
}

ReplacementCheck check_by_replacement(const ReplacementQuestion& question, const std::vector<bool>& wanted,
                                      const ReplacementOptions& options) {
  const Read read = read_text(question);
  const std::size_t n = read.input.ids.size();
  const ModelHead head = question.model.info().head;
  const bool of_tokens = head == ModelHead::kMaskedLm || head == ModelHead::kCausalLm;
  std::vector<std::size_t> places;
  for (std::size_t g = 0; g < question.groups.size(); ++g) {
    if (wanted[g] && question.groups[g].back() < n) places.push_back(g);
  }
  const std::vector<std::vector<internal::Candidate>> found = internal::find_candidates(
      {question.model, question.codec, read.input, question.target, question.groups}, places, options);

  ReplacementCheck result;
  result.places.resize(question.groups.size());
  std::vector<TextInput> inputs = {read.input};
  std::vector<Text> texts = {{}};
  for (std::size_t p = 0; p < places.size(); ++p) {
    PlaceDrop& place = result.places[places[p]];
    for (const internal::Candidate& candidate : found[p]) {
      std::string text;
      for (const std::int64_t id : candidate) text += question.codec.readable(id);
      texts.push_back({places[p], place.tried.size()});
      place.tried.push_back({.text = std::move(text)});
      inputs.push_back(replaced(read.input, question.groups[places[p]], candidate));
    }
  }
  // The fits need the prediction for the text itself, which may not come first.
  std::vector<std::size_t> fitting;
  const auto look = [&](std::span<const TextInput> some, std::size_t from, const BatchOptions& batch) {
    question.model.logits_of_each(some, read.position, batch, [&](std::size_t i, std::span<const float> logits) {
      const bool is_finite = std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); });
      const double value = is_finite ? target_value(question.target, logits) : std::numeric_limits<double>::quiet_NaN();
      if (from + i == 0) {
        result.value = value;
        if (of_tokens) fitting = internal::most_probable(logits, kFitting, [](std::size_t) { return true; });
        return;
      }
      TriedReplacement& one = result.places[texts[from + i].place].tried[texts[from + i].number];
      one.value = value;
      one.fit = of_tokens && is_finite ? probability_of(logits, fitting) : 1.0;
    });
  };
  look(std::span(inputs).first(1), 0, {.stop_token = options.stop_token});
  // The text itself is their trunk again.
  BatchOptions batch{.progress = options.progress, .stop_token = options.stop_token};
  look(inputs, 0, batch);
  for (PlaceDrop& place : result.places) {
    // A model may overflow with some.
    std::erase_if(place.tried, [](const TriedReplacement& one) { return !std::isfinite(one.value); });
    const WeightedMean mean = mean_drop(result.value, place.tried);
    place.drop = mean.mean;
    place.spread = mean.error;
  }
  result.reliability = reliability_of(result.value, result.places);
  return result;
}

}  // namespace attnflow
