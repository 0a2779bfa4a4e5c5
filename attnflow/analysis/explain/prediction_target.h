// Which output of a model is explained: --target against --against.
//
// The score is a logit, or a logit less the mean of others, never a probability, whose gradient vanishes where the
// model is sure. By default it is the predicted class or token. Relevance (graph/relevance_mixing.h) compares it with
// the alternatives, the ten most probable other tokens or all other classes, since a part of every logit says nothing
// about the choice. The ten rather than the runner-up alone, because two words that compete for the same reason
// ("Berlin", "Hamburg") share what decided for either; docs/edges.md has the measurements.
// Gradient-adjusted attention takes the logit alone, as published.
//
// Order: asked_target(), which finds errors before the model runs; the model's output; chosen_target(); score_target()
// for the backward pass.
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

// The option that needs a target, for messages: "mixing relevance", "method attnlrp".
std::string explaining_option(const Settings& settings);

// `codec`: for models whose output is a token; null for classes. Throws as the one of explain/asked_target.h, and
// Error(kUnsupportedModel) for a model without a head.
AskedTarget asked_target(const Settings& settings, const ModelInfo& info, const TextCodec* codec,
                         std::vector<Note>& notes);

// The target with its logits. `position`: for a model with logits at each position, the mask, the token that gets a
// class, or a decoder's last token. Throws Error(kBadFile) for infinite logits or NaN, Error(kUsage) for unknown or
// equal labels.
ReportTarget chosen_target(const AskedTarget& asked, const ModelInfo& info, const TextCodec* codec,
                           std::span<const float> logits, std::optional<std::size_t> position);

ScoreTarget score_target(const ReportTarget& target);

}  // namespace attnflow
