// Which output of a model is explained: --target against --against.
//
// The score is a logit, or a logit less the mean of others, never a probability, whose gradient vanishes where the
// model is sure. By default it is the predicted class or token. Relevance (graph/relevance_mixing.h) compares it with
// the alternatives, the ten most probable other tokens or all other classes, since a part of every logit says nothing
// about the choice. The ten rather than the runner-up alone, because two words that compete for the same reason
// ("Berlin", "Hamburg") share what decided for either; docs/edges.md has the measurements.
// Gradient-adjusted attention takes the logit alone, as published.
//
// Names. Classes are named by label (exactly, or differing only in case), by number, or by id:N if labels are numbers;
// tokens by a word as it would follow a space, or by id:N. Keywords (auto, none, rest, next10) as names need a leading
// space. --against also takes names separated by commas.
//
// Order: asked_target(), which finds errors before the model runs; the model's output; chosen_target(); score_target()
// for the backward pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/probabilities.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

// --target and --against as numbers.
struct AskedTarget {
  // The outputs whose mean logit is subtracted from the target's: none, the `next` largest others, all others, or
  // `others`.
  enum class Against : std::uint8_t { kNothing, kNext, kRest, kLabels };
  std::optional<std::size_t> label = {};  // absent: the largest logit
  Against against = Against::kNothing;
  std::size_t next = 10;                 // kNext
  std::vector<std::size_t> others = {};  // kLabels
  // The outputs that the question is about, if not all: the largest of them is the target, by default against the rest
  // of them.
  std::vector<std::size_t> candidates = {};
};

// The option that needs a target, for messages: "mixing relevance", "method attnlrp".
std::string explaining_option(const Settings& settings);

// "next10": 10; nothing for other texts.
std::optional<std::size_t> next_of(std::string_view against);

// Returns the class with this name (in any case, if none matches exactly), this number, or id:N (even if N is a name).
std::optional<std::size_t> label_named(const std::string& label, const std::vector<std::string>& labels);

// `codec`: for models whose output is a token; null for classes. By default, a class is compared with all others, a
// token with the ten most probable others. A word stands for its first token, with a note if it has more. Throws
// Error(kUsage) for unknown or repeated names, Error(kUnsupportedModel) for a model without a head.
AskedTarget asked_target(const Settings& settings, const ModelInfo& info, const TextCodec* codec,
                         std::vector<Note>& notes);

// Likewise for an answer among `tokens` tokens: the position of its first token, by default against all others.
AskedTarget asked_begin(const Settings& settings, std::size_t tokens);

// With two or more candidates, makes them the question: the most probable is the target, compared with the others,
// unless the settings name a target or a comparison.
void ask_among(AskedTarget& asked, const Settings& settings, std::span<const std::int64_t> candidates);

// The target with its logits. `position`: for a model with logits at each position, the mask, the token that gets a
// class, or a decoder's last token. Throws Error(kBadFile) for infinite logits or NaN, Error(kUsage) for labels that do
// not exist.
ReportTarget chosen_target(const AskedTarget& asked, const ModelInfo& info, const TextCodec* codec,
                           std::span<const float> logits, std::optional<std::size_t> position);

// Likewise of other numbers than a model's logits of classes or tokens. `kind`: ReportTarget::kind; `name`: names one.
ReportTarget target_among(const AskedTarget& asked, const std::string& kind, std::span<const float> logits,
                          const IdToText& name, std::optional<std::size_t> position);

ScoreTarget score_target(const ReportTarget& target);

// "Hamburg, Munich, Bonn and 7 others": what a target is compared with, unless that is all others.
std::string against_words(const ReportAgainst& against);

}  // namespace attnflow
