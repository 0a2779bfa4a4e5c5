#include "attnflow/explain/report_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "attnflow/base/format_error.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/words/lists.h"

namespace attnflow {
namespace {

void check_logits(std::span<const float> logits, std::size_t label) {
  if (label >= logits.size()) {
    throw internal::usage_error("target: expected one of {} logits, found {}", logits.size(), label);
  }
  if (!std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); })) {
    throw internal::file_error(
        "expected finite logits, found a non-finite one; the model's weights are damaged or overflow in float32");
  }
}

// Those with the largest logits but those left out.
std::vector<std::size_t> largest(std::span<const float> logits, std::size_t count,
                                 std::span<const std::size_t> left_out) {
  return largest_logits(
      logits, count, [&](std::size_t i) { return std::find(left_out.begin(), left_out.end(), i) == left_out.end(); });
}

std::size_t target_of(const AskedTarget& asked, std::span<const float> logits) {
  if (asked.label) return *asked.label;
  // The best one that it is not compared with.
  std::optional<std::size_t> best;
  for (const std::size_t candidate : asked.candidates) {
    check_logits(logits, candidate);
    const bool is_other = std::find(asked.others.begin(), asked.others.end(), candidate) != asked.others.end();
    if (!is_other && (!best || logits[candidate] > logits[*best])) best = candidate;
  }
  if (asked.candidates.empty()) {
    const std::vector<std::size_t> found = largest(logits, 1, asked.others);
    if (!found.empty()) best = found.front();
  }
  if (!best) {
    throw internal::usage_error(
        "--against: expected to leave something to explain, found everything that could be the target; name fewer");
  }
  return *best;
}

}  // namespace

AskedTarget::Against usual_against(bool of_class) {
  return of_class ? AskedTarget::Against::kRest : AskedTarget::Against::kNext;
}

void ask_among(AskedTarget& asked, const Settings& settings, std::span<const std::int64_t> candidates) {
  if (candidates.size() < 2) return;
  for (const std::int64_t candidate : candidates) {
    const auto id = static_cast<std::size_t>(candidate);
    if (std::find(asked.candidates.begin(), asked.candidates.end(), id) == asked.candidates.end()) {
      asked.candidates.push_back(id);
    }
  }
  if (asked.candidates.size() < 2) {  // one word, perhaps in two spellings
    asked.candidates.clear();
    return;
  }
  if (settings.against == "auto" && !settings.weights_by_gradient()) asked.against = AskedTarget::Against::kLabels;
}

ReportTarget target_among(const AskedTarget& asked, const std::string& kind, std::span<const float> logits,
                          const IdToText& name, std::optional<std::size_t> position) {
  using Against = AskedTarget::Against;
  check_logits(logits, asked.label.value_or(0));
  ReportTarget target;
  target.kind = kind;
  target.index = target_of(asked, logits);
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
  std::vector<std::size_t> others = asked.others.empty() ? asked.candidates : asked.others;
  if (asked.against != Against::kLabels)
    others = largest(logits, asked.against == Against::kRest ? 1 : asked.next, std::array{target.index});
  std::erase(others, target.index);
  for (const std::size_t index : others) {
    check_logits(logits, index);
    const auto logit = static_cast<double>(logits[index]);
    other.others.push_back({name(static_cast<std::int64_t>(index)), index, logit});
    other.logit += logit / static_cast<double>(others.size());
  }
  if (others.size() == 1) {
    other.index = others.front();
    other.label = other.others.front().label;
    other.others.clear();
  }
  return target;
}

std::string against_words(const ReportAgainst& against) {
  if (against.index) return against.label;
  std::vector<std::string> labels;
  for (const ReportOther& other : against.others) labels.push_back(other.label);
  return internal::first_few(std::move(labels));
}

std::string compared_quantity(const ReportTarget& target) {
  if (target.kind == "embedding" || target.kind == "similarity") return target_quantity(target);
  if (!target.against) return fmt::format("logit of {}", target.label);
  if (target.against->is_rest()) return fmt::format("logit of {} above the others' mean", target.label);
  const std::string others = against_words(*target.against);
  return target.against->index ? fmt::format("logit difference of {} over {}", target.label, others)
                               : fmt::format("logit of {} above the mean of {}", target.label, others);
}

std::string plain_quantity(const ReportTarget& target) {
  if (!target.against) return "logit";
  return target.against->is_rest() ? "logit above the others' mean" : "logit difference";
}

}  // namespace attnflow
