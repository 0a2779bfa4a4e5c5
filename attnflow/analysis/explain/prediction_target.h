// Which output of a model is explained: --target against --against.
//
// The score is a logit or the difference of two, never a probability, whose gradient vanishes where the model is sure.
// By default it is the predicted class or token; relevance (graph/relevance_mixing.h) takes it against what it could
// have been instead, the runner-up of the tokens or all other classes, since a part of every logit says nothing about
// the choice. Gradient-adjusted attention takes the logit alone, as published.
//
// In order: asked_target(), which says what is wrong before the model runs; the model's output; chosen_target();
// score_target() for the pass back.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/explain/asked_target.h"
#include "attnflow/explain/report_target.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

// What asks for a target, for messages: "mixing relevance", "method attnlrp".
std::string explaining_option(const Settings& settings);

// `codec`: of models whose output is a token; null for classes. Throws as that of explain/asked_target.h, and
// Error(kUnsupportedModel) for a model without a head.
AskedTarget asked_target(const Settings& settings, const ModelInfo& info, const TextCodec* codec,
                         std::vector<Note>& notes);

// The target with its logits. `position`: where a model was asked that has logits for each (a mask, a token that gets a
// class, or the last token of a decoder).
// Throws Error(kBadFile) for logits that are not finite, Error(kUsage) for labels that are not there or the same.
ReportTarget chosen_target(const AskedTarget& asked, const ModelInfo& info, const TextCodec* codec,
                           std::span<const float> logits, std::optional<std::size_t> position);

ScoreTarget score_target(const ReportTarget& target);

}  // namespace attnflow
