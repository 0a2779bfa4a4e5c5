#include "attnflow/explain/report_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attnflow/base/format_error.h"

namespace attnflow {
namespace {

std::size_t largest(std::span<const float> logits, std::optional<std::size_t> but = std::nullopt) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (i != but && (!best || logits[i] > logits[*best])) best = i;
  }
  return best.value_or(0);
}

void check_logits(std::span<const float> logits, std::size_t label) {
  if (label >= logits.size()) {
    throw internal::usage_error("target: expected one of {} logits, found {}", logits.size(), label);
  }
  if (!std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); })) {
    throw internal::file_error(
        "expected finite logits, found a non-finite one; the model's weights are damaged or overflow in float32");
  }
}

}  // namespace

AskedTarget::Against usual_against(bool of_class) {
  return of_class ? AskedTarget::Against::kRest : AskedTarget::Against::kBest;
}

ReportTarget target_among(const AskedTarget& asked, const std::string& kind, std::span<const float> logits,
                          const IdToText& name, std::optional<std::size_t> position) {
  using Against = AskedTarget::Against;
  check_logits(logits, asked.label.value_or(0));
  ReportTarget target;
  target.kind = kind;
  // Without a named target, this is the best logit other than the one compared with.
  std::optional<std::size_t> excluded;
  if (asked.against == Against::kLabel) excluded = asked.other;
  target.index = asked.label ? *asked.label : largest(logits, excluded);
  target.label = name(static_cast<std::int64_t>(target.index));
  target.logit = static_cast<double>(logits[target.index]);
  target.position = position;
  if (asked.against == Against::kNothing || logits.size() < 2) return target;
  ReportAgainst& other = target.against.emplace();
  if (asked.against == Against::kRest && logits.size() > 2) {
    double sum = 0.0;
    for (const float logit : logits) sum += static_cast<double>(logit);
    other.logit = (sum - target.logit) / static_cast<double>(logits.size() - 1);
    return target;
  }
  const std::size_t index = asked.against == Against::kLabel ? asked.other : largest(logits, target.index);
  check_logits(logits, index);
  other.index = index;
  other.label = name(static_cast<std::int64_t>(index));
  other.logit = static_cast<double>(logits[index]);
  return target;
}

std::string compared_quantity(const ReportTarget& target) {
  if (!target.against) return fmt::format("logit of {}", target.label);
  if (!target.against->index) return fmt::format("logit of {} above the others' mean", target.label);
  return fmt::format("logit difference of {} over {}", target.label, target.against->label);
}

std::string plain_quantity(const ReportTarget& target) {
  if (!target.against) return "logit";
  return target.against->index ? "logit difference" : "logit above the others' mean";
}

}  // namespace attnflow
