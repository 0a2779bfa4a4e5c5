// What a model says: its classes, and the number of a target. The probabilities are those of
// attribution/probabilities.h.
#ifndef ATTNFLOW_MODEL_PREDICTION_H_
#define ATTNFLOW_MODEL_PREDICTION_H_

#include <span>
#include <vector>

#include "attnflow/attribution/probabilities.h"
#include "attnflow/model/model.h"

namespace attnflow {

// The number that `target` explains, of the logits that it is about, in float64. Throws Error(kUsage) for a label that
// the logits do not have.
double target_value(const ScoreTarget& target, std::span<const float> logits);

// The same of info.labels, which exclude each other unless info.multi_label.
std::vector<Prediction> class_predictions(const ModelInfo& info, std::span<const float> logits);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_PREDICTION_H_
