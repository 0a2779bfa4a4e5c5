// Computes a model's predictions, with attribution/probabilities.h: its classes and the value of a target.
#pragma once

#include <span>
#include <vector>

#include "attnflow/attribution/probabilities.h"
#include "attnflow/model/model.h"

namespace attnflow {

// Returns the value that `target` explains, in float64; for an embedding of zeros, which has no direction, NaN. Throws
// Error(kUsage) for a label without a logit, or a direction of another size than the embedding.
double target_value(const ScoreTarget& target, std::span<const float> logits);

// Returns predictions for info.labels, which exclude each other unless info.multi_label.
std::vector<Prediction> class_predictions(const ModelInfo& info, std::span<const float> logits);

}  // namespace attnflow
