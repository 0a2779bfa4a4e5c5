// Selects the logits to explain and to compare with, once --target and --against are numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "attnflow/attribution/probabilities.h"
#include "attnflow/report/report.h"

namespace attnflow {

struct AskedTarget {
  enum class Against : std::uint8_t { kNothing, kBest, kRest, kLabel };
  std::optional<std::size_t> label = {};  // absent: the largest logit
  Against against = Against::kNothing;
  std::size_t other = 0;  // kLabel
};

// The default comparison: a class against all others, a token against the best other one.
AskedTarget::Against usual_against(bool of_class);

// Returns the target with its logits. `kind`: ReportTarget::kind; `name`: names a class or token. Throws
// Error(kBadFile) for non-finite logits, Error(kUsage) for labels that do not exist.
ReportTarget target_among(const AskedTarget& asked, const std::string& kind, std::span<const float> logits,
                          const IdToText& name, std::optional<std::size_t> position);

// "logit difference of plural over singular": the value's name where the target is not shown.
std::string compared_quantity(const ReportTarget& target);

// "logit difference": the value's name where the target is shown.
std::string plain_quantity(const ReportTarget& target);

}  // namespace attnflow
