#include "attnflow/analysis/check/make_check.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "attnflow/analysis/check/replacement_check.h"
#include "attnflow/analysis/methods/blank_out.h"
#include "attnflow/analysis/methods/target_values.h"

namespace attnflow {
namespace {

constexpr std::size_t kFewestTokens = 6;  // fewer of many say little

ReplacementQuestion replacement_question(const TextQuestion& question) {
  return {question.model, *question.codec, question.input, question.target, question.groups};
}

template <typename Question>
bool replaces(const Question& question) {
  if constexpr (std::is_same_v<Question, TextQuestion>) return question.codec != nullptr && question.replacements > 0;
  return false;
}

double work_of_replacements(const TextQuestion& question, const std::vector<std::size_t>& compared) {
  const ReplacementQuestion asked = replacement_question(question);
  double tokens = 0.0;
  for (const std::size_t j : compared) tokens += replacement_tokens(asked, j, question.replacements);
  return run_work(question.model.info(), tokens);
}

template <typename Question>
double work_of_blanks(const Question& question) {
  double tokens = 0.0;
  for (const std::vector<std::size_t>& group : question.groups) tokens += static_cast<double>(group.size());
  return run_work(question.model.info(), tokens) * static_cast<double>(question.groups.size() + 1);
}

std::optional<ReportCheck> by_replacement(const Report& report, std::size_t output_token, const TextQuestion& question,
                                          const CheckedInput& input, std::optional<double> work) {
  const ReplacementQuestion asked = replacement_question(question);
  const std::vector<std::size_t> compared = compared_tokens(report, input);
  std::size_t most = compared.size();
  if (const double all = work_of_replacements(question, compared); work && all > *work) {
    most = static_cast<std::size_t>(static_cast<double>(most) * *work / all);
  }
  if (most < std::min(kFewestTokens, compared.size())) return std::nullopt;
  const std::vector<std::size_t> chosen = chosen_tokens(report, output_token, compared, most);
  std::vector<bool> wanted(question.groups.size(), false);
  for (const std::size_t j : chosen) wanted[j] = true;
  ReplacementOptions options{.replacements = question.replacements, .stop_token = question.stop_token};
  if (question.phases) options.progress = question.phases("texts with a token replaced");
  ReplacementCheck found = check_by_replacement(asked, wanted, options);
  ReportCheck check{.quantity = input.quantity, .value = found.value};
  check.reliability = found.reliability;
  check.left_out = compared.size() - chosen.size();
  for (const std::size_t j : chosen) {
    PlaceDrop& place = found.places[j];
    if (place.tried.empty()) continue;  // nothing could stand there
    check.tokens.push_back(
        {.token = j, .drop = place.drop, .spread = place.spread, .replacements = std::move(place.tried)});
  }
  return check;
}

template <typename Question>
std::optional<ReportCheck> by_blanks(const Report& report, const Question& question, const CheckedInput& input,
                                     std::optional<double> work, const std::optional<BlankOut>& known) {
  if (!question.blanked) return std::nullopt;
  if (!known && work && work_of_blanks(question) > *work) return std::nullopt;
  const BlankOut found = known ? *known : blank_out(question);
  ReportCheck check{.quantity = input.quantity, .value = found.value};
  check.blank = question.blank;
  for (const std::size_t j : compared_tokens(report, input)) {
    check.tokens.push_back({.token = j, .drop = found.value - found.blanked[j]});
  }
  return check;
}

bool is_finite(const ReportCheck& check) {
  return std::isfinite(check.value) &&
         std::all_of(check.tokens.begin(), check.tokens.end(), [](const auto& one) { return std::isfinite(one.drop); });
}

}  // namespace

double run_work(const ModelInfo& info, double tokens) {
  return 2.0 * static_cast<double>(info.active_parameters()) * tokens;
}

template <typename Question>
CheckedInput checked_input(const Question& question) {
  return {.quantity = question.quantity.empty() ? target_quantity(question.target.kind) : question.quantity,
          .position = question.target.position,
          .groups = question.groups};
}

template <typename Question>
double check_work(const Report& report, const Question& question) {
  if constexpr (std::is_same_v<Question, TextQuestion>) {
    if (replaces(question)) return work_of_replacements(question, compared_tokens(report, checked_input(question)));
  }
  return work_of_blanks(question);
}

template <typename Question>
std::optional<ReportCheck> make_check(const Report& report, std::size_t output_token, const Question& question,
                                      std::optional<double> work, const std::optional<BlankOut>& blanked) {
  const CheckedInput input = checked_input(question);
  std::optional<ReportCheck> check;
  if (!replaces(question)) {
    check = by_blanks(report, question, input, work, blanked);
  } else if constexpr (std::is_same_v<Question, TextQuestion>) {
    check = by_replacement(report, output_token, question, input, work);
    if (check && check->tokens.empty()) check = by_blanks(report, question, input, work, blanked);
  }
  if (!check || check->tokens.empty() || !is_finite(*check)) return std::nullopt;
  check_maps(*check, report, output_token, input);
  return check;
}

template CheckedInput checked_input(const TextQuestion&);
template CheckedInput checked_input(const ImageQuestion&);
template double check_work(const Report&, const TextQuestion&);
template double check_work(const Report&, const ImageQuestion&);
template std::optional<ReportCheck> make_check(const Report&, std::size_t, const TextQuestion&, std::optional<double>,
                                               const std::optional<BlankOut>&);
template std::optional<ReportCheck> make_check(const Report&, std::size_t, const ImageQuestion&, std::optional<double>,
                                               const std::optional<BlankOut>&);

}  // namespace attnflow
