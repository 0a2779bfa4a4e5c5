#include "attnflow/analysis/methods/score_methods.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/analysis/methods/gradient_scores.h"
#include "attnflow/analysis/methods/integrated_gradients.h"
#include "attnflow/analysis/methods/logit_scores.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/format_error.h"

namespace attnflow {
namespace {

// A model may overflow where a token is blanked.
bool check_is_finite(const BlankOut& blanked, bool must) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (is_finite(blanked.value) && std::all_of(blanked.blanked.begin(), blanked.blanked.end(), is_finite)) return true;
  if (!must) return false;
  throw internal::file_error(
      "check: expected finite values, found some that are not; the model overflows where tokens are blanked; omit "
      "check, or load the model in float32");
}

Tensor<double> score_row(std::vector<double> scores, const char* method) {
  if (!std::all_of(scores.begin(), scores.end(), [](double score) { return std::isfinite(score); })) {
    throw internal::file_error(
        "--method {}: expected finite scores, found some that are not; the model's weights are damaged or overflow in "
        "float32",
        method);
  }
  const std::size_t n = scores.size();
  return {{1, n}, std::move(scores)};
}

}  // namespace

template <typename Question>
MethodScores method_scores(Method method, const Question& question, const std::optional<BlankOut>& blanked) {
  MethodScores found{.method = method, .sums = {{}}};
  ScoreSum& sum = found.sums.front();
  std::vector<double> scores;
  switch (method) {
    case Method::kBlankOut:
      scores = blanked ? blanked->scores() : blank_out(question).scores();
      break;
    case Method::kGradientTimesInput:
      scores = gradient_times_input_scores(question, BackwardRule::kGradient);
      break;
    case Method::kAttnLrp:
      scores = gradient_times_input_scores(question, BackwardRule::kAttnLrp);
      break;
    case Method::kIntegratedGradients: {
      IntegratedGradients integrated = integrated_gradients(question);
      scores = std::move(integrated.scores);
      sum.total = integrated.change;
      break;
    }
    case Method::kLogit:
    case Method::kAltiLogit: {
      LogitScores shared = logit_scores(question, method);
      scores = std::move(shared.scores);
      sum.parts = std::move(shared.parts);
      sum.total = shared.value;
      break;
    }
    default:
      throw internal::usage_error("--method {}: expected a method without layers, found one with layers",
                                  to_text(method));
  }
  found.values = score_row(std::move(scores), method_info(method).name);
  return found;
}

template <typename Question>
void score_methods(Report& report, const Question& question) {
  const bool asked = report.settings.wants(Method::kBlankOut);
  const double work = report.settings.explains_prediction() ? kAgreementWork : kCheckWork;
  const std::size_t n = question.groups.size();
  std::size_t tokens = 0;
  for (const std::vector<std::size_t>& group : question.groups) tokens += group.size();
  std::optional<BlankOut> blanked;
  const bool must = question.check == CheckWhen::kAlways;
  const auto is_cheap = [&] { return agreement_is_cheap(question.model.info().active_parameters(), tokens, n, work); };
  if (question.blanked && (asked || must || (question.check == CheckWhen::kIfCheap && is_cheap()))) {
    blanked = blank_out(question);
    if (!asked && !check_is_finite(*blanked, must)) blanked.reset();
  }
  for (const Method method : report.settings.methods) {
    if (!method_info(method).aggregates()) report.scores.push_back(method_scores(method, question, blanked));
  }
  note_integration_error(report.scores, question.steps, report.notes);
  if (!blanked) return;
  report.agreement = blank_out_agreement(report, report.output_token, *blanked, blanked_input(question));
  note_agreement(*report.agreement, report.input, report.notes);
}

template <typename Input>
void check_methods(const Settings& settings, ModelOf<Input>& model, std::size_t steps) {
  for (const Method method : settings.methods) {
    const MethodInfo& info = method_info(method);
    if (info.aggregates()) continue;
    if (model.info().head == ModelHead::kNone) {
      throw internal::model_error(
          "--method {}: expected a model that predicts something (a class, a token), found {}, which has no head; "
          "choose such a model, or raw, rollout or flow",
          info.name, model.info().name);
    }
    if (!info.needs_gradients()) continue;
    if (info.needs == MethodNeeds::kLayers) check_logit_scores(model.info(), method);
    if (method == Method::kIntegratedGradients) check_integration_steps(steps);
    if (method == Method::kIntegratedGradients && !gradients_of(model).takes_embeddings()) {
      throw internal::model_error(
          "--method {}: expected a model whose gradients can be taken at embeddings other than the input's, found {}, "
          "whose backend cannot; use attnlrp, gradient-x-input or blank-out",
          info.name, model.info().name);
    }
    gradients_of(model);
  }
}

std::string target_quantity(ScoreTarget::Kind kind) {
  constexpr std::array kQuantities = {"logit", "logit difference", "logit above the others' mean", "probability",
                                      "difference of probabilities"};
  return kQuantities[static_cast<std::size_t>(kind)];
}

template <typename Question>
BlankedInput blanked_input(const Question& question) {
  return {.quantity = question.quantity.empty() ? target_quantity(question.target.kind) : question.quantity,
          .blank = question.blank,
          .position = question.target.position,
          .groups = question.groups};
}

void note_integration_error(const std::vector<MethodScores>& all, std::size_t steps, std::vector<Note>& notes) {
  constexpr double kMuch = 0.1;
  double most = 0.0;
  for (const MethodScores& scores : all) {
    if (scores.method != Method::kIntegratedGradients) continue;
    for (std::size_t p = 0; p < scores.sums.size(); ++p) {
      const double total = std::abs(scores.sums[p].total.value_or(0.0));
      if (total > 0.0) most = std::max(most, std::abs(scores.error(p)) / total);
    }
  }
  if (most > kMuch) notes.push_back({NoteCode::kIntegrationError, {{"steps", steps}, {"share", most}}});
}

template void check_methods(const Settings&, ModelOf<TextInput>&, std::size_t);
template void check_methods(const Settings&, ModelOf<PixelInput>&, std::size_t);
template MethodScores method_scores(Method, const TextQuestion&, const std::optional<BlankOut>&);
template MethodScores method_scores(Method, const ImageQuestion&, const std::optional<BlankOut>&);
template BlankedInput blanked_input(const TextQuestion&);
template BlankedInput blanked_input(const ImageQuestion&);
template void score_methods(Report&, const TextQuestion&);
template void score_methods(Report&, const ImageQuestion&);

}  // namespace attnflow
