// Which of a model's logits are explained, and against which: the choice of --target and --against once both are
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "attnflow/attribution/probabilities.h"
#include "attnflow/report/report.h"

namespace attnflow {

// What --target and --against name.
struct AskedTarget {
  enum class Against : std::uint8_t { kNothing, kBest, kRest, kLabel };
  std::optional<std::size_t> label = {};  // absent: the one with the largest logit
  Against against = Against::kNothing;
  std::size_t other = 0;  // kLabel
};

// Against what a prediction stands unless something else is named: a class against all others, a token against the best
// of the others.
AskedTarget::Against usual_against(bool of_class);

// The target with its logits. `kind`: ReportTarget::kind; `name`: of a class or token.
// Throws Error(kBadFile) for logits that are not finite, Error(kUsage) for labels that are not there.
ReportTarget target_among(const AskedTarget& asked, const std::string& kind, std::span<const float> logits,
                          const IdToText& name, std::optional<std::size_t> position);

// "logit difference of plural over singular": what its value is, for people who do not see the target beside it.
std::string compared_quantity(const ReportTarget& target);

// "logit difference": the same for people who do.
std::string plain_quantity(const ReportTarget& target);

}  // namespace attnflow
