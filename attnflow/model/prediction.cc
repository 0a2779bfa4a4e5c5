#include "attnflow/model/prediction.h"

#include <cstddef>
#include <numeric>

#include "attnflow/model/fail.h"

namespace attnflow {

double target_value(const ScoreTarget& target, std::span<const float> logits) {
  using Kind = ScoreTarget::Kind;
  for (const std::size_t label : {target.label, target.has_other() ? target.other : target.label}) {
    if (label < logits.size()) continue;
    internal::fail(ErrorKind::kUsage, "target: expected one of {} logits, found number {}", logits.size(), label);
  }
  if (target.kind == Kind::kProbability || target.kind == Kind::kProbabilityDifference) {
    const std::vector<double> probabilities = softmax(logits);
    return probabilities[target.label] - (target.has_other() ? probabilities[target.other] : 0.0);
  }
  require_finite(logits);
  const auto logit = static_cast<double>(logits[target.label]);
  if (target.kind == Kind::kLogitDifference) return logit - static_cast<double>(logits[target.other]);
  if (target.kind == Kind::kLogit || logits.size() == 1) return logit;
  const double sum = std::accumulate(logits.begin(), logits.end(), 0.0);
  return logit - (sum - logit) / static_cast<double>(logits.size() - 1);
}

std::vector<Prediction> class_predictions(const ModelInfo& info, std::span<const float> logits) {
  return class_predictions(info.labels, info.multi_label, logits);
}

}  // namespace attnflow
