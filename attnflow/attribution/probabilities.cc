#include "attnflow/attribution/probabilities.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnflow/base/error.h"

namespace attnflow {

std::vector<std::size_t> largest_logits(std::span<const float> logits, std::size_t count) {
  return largest_logits(logits, count, [](std::size_t) { return true; });
}

void require_finite(std::span<const float> logits) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) {
      throw Error(
          ErrorKind::kBadFile,
          fmt::format("expected finite logits, found {} as number {}. The model's weights are unusable", logits[i], i));
    }
  }
}

std::vector<double> softmax(std::span<const float> logits) {
  require_finite(logits);
  std::vector<double> probabilities(logits.begin(), logits.end());
  if (probabilities.empty()) return probabilities;
  const double shift = *std::max_element(probabilities.begin(), probabilities.end());
  double sum = 0.0;
  for (double& value : probabilities) {
    value = std::exp(value - shift);
    sum += value;
  }
  for (double& value : probabilities) value /= sum;
  return probabilities;
}

std::vector<Prediction> class_predictions(std::span<const std::string> labels, bool multi_label,
                                          std::span<const float> logits) {
  if (logits.size() != labels.size()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected a logit for each of {} classes, found {}", labels.size(), logits.size()));
  }
  std::vector<double> probabilities = softmax(logits);
  if (multi_label || logits.size() == 1) {
    for (std::size_t c = 0; c < logits.size(); ++c) {
      probabilities[c] = 1.0 / (1.0 + std::exp(-static_cast<double>(logits[c])));
    }
  }
  std::vector<Prediction> predictions;
  for (const std::size_t c : largest_logits(logits, logits.size())) {
    predictions.push_back({static_cast<std::int64_t>(c), labels[c], probabilities[c], logits[c]});
  }
  return predictions;
}

std::vector<Prediction> top_predictions(std::span<const float> logits, std::size_t k, const IdToText& text) {
  const std::vector<double> probabilities = softmax(logits);
  std::vector<Prediction> predictions;
  for (const std::size_t token : largest_logits(logits, k)) {
    const auto id = static_cast<std::int64_t>(token);
    predictions.push_back({id, text(id), probabilities[token], logits[token]});
  }
  return predictions;
}

std::vector<Prediction> candidate_predictions(std::span<const float> logits, std::span<const std::int64_t> ids,
                                              const IdToText& text) {
  const std::vector<double> probabilities = softmax(logits);
  std::vector<Prediction> predictions;
  for (const std::int64_t id : ids) {
    if (id < 0 || static_cast<std::uint64_t>(id) >= logits.size()) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("expected candidate ids from 0 to {}, found {}", logits.size() - 1, id));
    }
    const auto token = static_cast<std::size_t>(id);
    predictions.push_back({id, text(id), probabilities[token], logits[token]});
  }
  return predictions;
}

std::vector<AnswerSpan> answer_spans(std::span<const float> begins, std::span<const float> ends,
                                     std::span<const std::size_t> places, std::optional<std::size_t> no_answer,
                                     std::size_t k) {
  const auto shares = [&](std::span<const float> logits) {
    std::vector<float> kept;
    for (const std::size_t place : places) kept.push_back(logits[place]);
    if (no_answer) kept.push_back(logits[*no_answer]);
    return softmax(kept);
  };
  const std::vector<double> of_begins = shares(begins);
  const std::vector<double> of_ends = shares(ends);
  std::vector<AnswerSpan> spans;
  for (std::size_t a = 0; a < places.size(); ++a) {
    for (std::size_t b = a; b < places.size() && places[b] < places[a] + kLongestAnswer; ++b) {
      spans.push_back({places[a], places[b], of_begins[a] * of_ends[b]});
    }
  }
  // Logits also order spans whose probabilities underflow. The sort is stable, and spans are in text order.
  const auto logit = [&](const AnswerSpan& span) {
    return static_cast<double>(begins[span.first]) + static_cast<double>(ends[span.last]);
  };
  std::stable_sort(spans.begin(), spans.end(),
                   [&](const AnswerSpan& a, const AnswerSpan& b) { return logit(a) > logit(b); });
  spans.resize(std::min(k, spans.size()));
  return spans;
}

}  // namespace attnflow
