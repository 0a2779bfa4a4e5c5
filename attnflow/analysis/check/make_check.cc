#include "attnflow/analysis/check/make_check.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "attnflow/analysis/check/patch_check.h"
#include "attnflow/analysis/check/replacement_check.h"
#include "attnflow/analysis/methods/blank_out.h"
#include "attnflow/analysis/methods/target_values.h"

namespace attnflow {
namespace {

constexpr std::size_t kFewestTokens = 6;  // fewer of many say little

bool replaces(const TextQuestion& question) { return question.codec != nullptr && question.replacements > 0; }
bool replaces(const ImageQuestion& question) { return question.grid != nullptr && question.replacements > 0; }

ReplacementQuestion replacement_question(const TextQuestion& question) {
  return {question.model, *question.codec, question.input, question.target, question.groups};
}

double tokens_of_replacements(const TextQuestion& question, const std::vector<bool>& wanted) {
  const ReplacementQuestion asked = replacement_question(question);
  double tokens = 0.0;
  for (std::size_t j = 0; j < wanted.size(); ++j) {
    if (wanted[j]) tokens += replacement_tokens(asked, j, question.replacements);
  }
  return tokens;
}

double tokens_of_replacements(const ImageQuestion& question, const std::vector<bool>& wanted) {
  return patch_check_runs(question, wanted) * static_cast<double>(question.groups.size());
}

ReplacementCheck check_places(const TextQuestion& question, const std::vector<bool>& wanted) {
  ReplacementOptions options{.replacements = question.replacements, .stop_token = question.stop_token};
  if (question.phases) options.progress = question.phases("texts with a token replaced");
  return check_by_replacement(replacement_question(question), wanted, options);
}

ReplacementCheck check_places(const ImageQuestion& question, const std::vector<bool>& wanted) {
  return check_patches(question, wanted);
}

template <typename Question>
std::vector<bool> marked(const Question& question, const std::vector<std::size_t>& chosen) {
  std::vector<bool> wanted(question.groups.size(), false);
  for (const std::size_t j : chosen) wanted[j] = true;
  return wanted;
}

template <typename Question>
double work_of_replacements(const Question& question, const std::vector<std::size_t>& chosen) {
  return run_work(question.model.info(), tokens_of_replacements(question, marked(question, chosen)));
}

template <typename Question>
double work_of_blanks(const Question& question) {
  double tokens = 0.0;
  for (const std::vector<std::size_t>& group : question.groups) tokens += static_cast<double>(group.size());
  return run_work(question.model.info(), tokens) * static_cast<double>(question.groups.size() + 1);
}

template <typename Question>
std::optional<ReportCheck> by_replacement(const Report& report, std::size_t output_token, const Question& question,
                                          const CheckedInput& input, std::optional<double> work) {
  const std::vector<std::size_t> compared = compared_tokens(report, input);
  std::vector<std::size_t> chosen = compared;
  // A few may take more than their share of the work.
  for (double needed = work_of_replacements(question, chosen); work && needed > *work;
       needed = work_of_replacements(question, chosen)) {
    const auto most = static_cast<std::size_t>(static_cast<double>(chosen.size()) * *work / needed);
    if (most < std::min(kFewestTokens, compared.size())) return std::nullopt;
    chosen = chosen_tokens(report, output_token, compared, most);
  }
  ReplacementCheck found = check_places(question, marked(question, chosen));
  ReportCheck check{.quantity = input.quantity, .value = found.value};
  check.reliability = found.reliability;
  check.left_out = compared.size() - chosen.size();
  for (const std::size_t j : chosen) {
    PlaceDrop& place = found.places[j];
    if (place.tried.empty()) {
      check.irreplaceable.push_back(j);
      continue;
    }
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
std::optional<double> check_limit(const Question& question) {
  if (question.check == CheckWhen::kAlways) return std::nullopt;
  return (question.is_explained ? kExplanationCheckWork : kMapCheckWork) - question.reserved_work;
}

template <typename Question>
CheckedInput checked_input(const Question& question) {
  return {.quantity = question.quantity.empty() ? target_quantity(question.target.kind) : question.quantity,
          .position = question.target.position,
          .groups = question.groups,
          .predicts_next = question.model.info().head == ModelHead::kCausalLm};
}

template <typename Question>
double check_work(const Report& report, const Question& question) {
  if (!replaces(question)) return work_of_blanks(question);
  return work_of_replacements(question, compared_tokens(report, checked_input(question)));
}

template <typename Question>
std::optional<ReportCheck> make_check(const Report& report, std::size_t output_token, const Question& question,
                                      std::optional<double> work, const std::optional<BlankOut>& blanked) {
  const CheckedInput input = checked_input(question);
  std::optional<ReportCheck> check;
  if (replaces(question)) check = by_replacement(report, output_token, question, input, work);
  if (!replaces(question) || (check && check->tokens.empty())) {
    check = by_blanks(report, question, input, work, blanked);
  }
  if (!check || check->tokens.empty() || !is_finite(*check)) return std::nullopt;
  check_maps(*check, report, output_token, input);
  return check;
}

template std::optional<double> check_limit(const TextQuestion&);
template std::optional<double> check_limit(const ImageQuestion&);
template CheckedInput checked_input(const TextQuestion&);
template CheckedInput checked_input(const ImageQuestion&);
template double check_work(const Report&, const TextQuestion&);
template double check_work(const Report&, const ImageQuestion&);
template std::optional<ReportCheck> make_check(const Report&, std::size_t, const TextQuestion&, std::optional<double>,
                                               const std::optional<BlankOut>&);
template std::optional<ReportCheck> make_check(const Report&, std::size_t, const ImageQuestion&, std::optional<double>,
                                               const std::optional<BlankOut>&);

}  // namespace attnflow
