#include "attnflow/analysis/methods/target_values.h"

#include <array>

#include "attnflow/model/prediction.h"

namespace attnflow {
namespace {

std::vector<double> values_of(const std::vector<Tensor<float>>& logits, const ScoreTarget& target) {
  std::vector<double> values;
  for (const Tensor<float>& one : logits) values.push_back(target_value(target, one.span()));
  return values;
}

}  // namespace

std::vector<double> target_values(TextModel& model, std::span<const TextInput> inputs, const ScoreTarget& target,
                                  const BatchOptions& options) {
  std::vector<double> values(inputs.size());
  model.logits_of_each(inputs, target.position, options,
                       [&](std::size_t i, std::span<const float> logits) { values[i] = target_value(target, logits); });
  return values;
}

std::vector<double> target_values(VisionModel& model, std::span<const PixelInput> inputs, const ScoreTarget& target,
                                  const BatchOptions& options) {
  return values_of(model.classify(inputs, options), target);
}

std::string target_quantity(ScoreTarget::Kind kind) {
  constexpr std::array kQuantities = {"logit",
                                      "logit difference",
                                      "logit difference",
                                      "probability",
                                      "difference of probabilities",
                                      "cosine similarity"};
  return kQuantities[static_cast<std::size_t>(kind)];
}

}  // namespace attnflow
