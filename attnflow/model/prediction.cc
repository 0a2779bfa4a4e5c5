#include "attnflow/model/prediction.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "attnflow/model/fail.h"

namespace attnflow {

namespace {

double cosine(std::span<const float> direction, std::span<const float> embedding) {
  if (embedding.size() != direction.size()) {
    internal::fail(ErrorKind::kUsage, "target: expected a direction of {} numbers, found {}", embedding.size(),
                   direction.size());
  }
  double product = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < embedding.size(); ++i) {
    const auto number = static_cast<double>(embedding[i]);
    product += number * static_cast<double>(direction[i]);
    squares += number * number;
  }
  return product / std::sqrt(squares);
}

}  // namespace

double target_value(const ScoreTarget& target, std::span<const float> logits) {
  using Kind = ScoreTarget::Kind;
  if (target.kind == Kind::kCosine) return cosine(target.direction, logits);
  const auto check_label = [&](std::size_t label) {
    if (label < logits.size()) return;
    internal::fail(ErrorKind::kUsage, "target: expected one of {} logits, found number {}", logits.size(), label);
  };
  check_label(target.label);
  if (target.has_others() && target.others.empty()) {
    internal::fail(ErrorKind::kUsage, "target: expected a logit to compare number {} with, found none", target.label);
  }
  if (target.has_others()) std::for_each(target.others.begin(), target.others.end(), check_label);
  const auto mean_of_others = [&](const auto& values) {
    double sum = 0.0;
    for (const std::size_t other : target.others) sum += static_cast<double>(values[other]);
    return sum / static_cast<double>(target.others.size());
  };
  if (target.kind == Kind::kProbability || target.kind == Kind::kProbabilityDifference) {
    const std::vector<double> probabilities = softmax(logits);
    return probabilities[target.label] - (target.has_others() ? mean_of_others(probabilities) : 0.0);
  }
  require_finite(logits);
  const auto logit = static_cast<double>(logits[target.label]);
  if (target.kind == Kind::kLogitDifference) return logit - mean_of_others(logits);
  if (target.kind == Kind::kLogit || logits.size() == 1) return logit;
  const double sum = std::accumulate(logits.begin(), logits.end(), 0.0);
  return logit - (sum - logit) / static_cast<double>(logits.size() - 1);
}

std::vector<Prediction> class_predictions(const ModelInfo& info, std::span<const float> logits) {
  return class_predictions(info.labels, info.multi_label, logits);
}

}  // namespace attnflow
