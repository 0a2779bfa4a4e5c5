// The value of one target for many inputs, for blank-out. Classifiers run them in batches, other models one by one,
// keeping one row of logits. Values are float64 of float32 logits. Same inputs, same bits, whatever the number of
// threads.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnflow/model/model.h"

namespace attnflow {

// Throw as ModelOf::run() and target_value() do; Cancelled. Progress is in inputs.
std::vector<double> target_values(TextModel& model, std::span<const TextInput> inputs, const ScoreTarget& target,
                                  const BatchOptions& options = {});
std::vector<double> target_values(VisionModel& model, std::span<const PixelInput> inputs, const ScoreTarget& target,
                                  const BatchOptions& options = {});

// The name of a target's value, "logit difference": the one that target_quantity() gives in reports.
std::string target_quantity(ScoreTarget::Kind kind);

}  // namespace attnflow
