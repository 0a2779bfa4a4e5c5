// Selects the logits to explain and to compare with, once --target and --against are numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnflow/attribution/probabilities.h"
#include "attnflow/report/report.h"

namespace attnflow {

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

// The default comparison: a class with all others, a token with the ten most probable others.
AskedTarget::Against usual_against(bool of_class);

// With two or more candidates, makes them the question: the most probable is the target, compared with the others,
// unless the settings name a target or a comparison.
void ask_among(AskedTarget& asked, const Settings& settings, std::span<const std::int64_t> candidates);

// Returns the target with its logits. `kind`: ReportTarget::kind; `name`: names a class or token. Throws
// Error(kBadFile) for non-finite logits, Error(kUsage) for labels that do not exist.
ReportTarget target_among(const AskedTarget& asked, const std::string& kind, std::span<const float> logits,
                          const IdToText& name, std::optional<std::size_t> position);

// "Hamburg, Munich, Bonn and 7 others": what a target is compared with, unless that is all others.
std::string against_words(const ReportAgainst& against);

// "logit difference of plural over singular": the value's name where the target is not shown.
std::string compared_quantity(const ReportTarget& target);

// "logit difference": the value's name where the target is shown.
std::string plain_quantity(const ReportTarget& target);

}  // namespace attnflow
