#include "attnflow/analysis/methods/score_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/analysis/check/make_check.h"
#include "attnflow/analysis/methods/gradient_scores.h"
#include "attnflow/analysis/methods/integrated_gradients.h"
#include "attnflow/analysis/methods/logit_scores.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/format_error.h"
#include "attnflow/words/numbers.h"

namespace attnflow {
namespace {

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
  std::optional<BlankOut> blanked;
  if (report.settings.wants(Method::kBlankOut)) blanked = blank_out(question);
  for (const Method method : report.settings.methods) {
    if (method_info(method).aggregates()) continue;
    MethodScores& found = report.scores.emplace_back(method_scores(method, question, blanked));
    // A token that is no input, the mean of all, has no score.
    Tensor<double> values({1, report.input.tokens.size()});
    std::copy_n(found.values.data(), found.values.size(), values.data());
    found.values = std::move(values);
  }
  note_integration_error(report.scores, question.steps, report.notes);
  if (question.check == CheckWhen::kNever) return;
  const bool must = question.check == CheckWhen::kAlways;
  const std::optional<double> work = check_limit(question);
  report.check = make_check(report, report.output_token, question, work, blanked);
  if (!report.check && question.is_explained && work && question.blanked) {
    const double needed = check_work(report, question);
    const std::string time = internal::about_time(needed / kCheckWorkOfASecond);
    if (needed > *work) report.notes.push_back({NoteCode::kNotChecked, {{"time", time}}});
  }
  if (must && !report.check) {
    throw internal::file_error(
        "check: expected tokens that can be replaced or blanked, and finite values with them, found none; omit check, "
        "or "
        "load the model in float32");
  }
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

void require_check(CheckWhen when, const Report& report, const ModelInfo& info, std::size_t output_token,
                   std::size_t class_token) {
  if (when != CheckWhen::kAlways) return;
  if (info.head == ModelHead::kNone) {
    throw internal::model_error(
        "--check always: expected a model that predicts (a class, a mask, the next token) or embeds a text, found {}, "
        "which has no such head; omit --check",
        info.name);
  }
  const bool has_class_token = info.causal || report.input.tokens.at(class_token).special;
  if (info.head == ModelHead::kClassification && !has_class_token) {
    throw internal::usage_error(
        "--check always: expected a model that reads its class at a class token, found {} and no such token; add "
        "--mixing relevance, which explains the class itself, or omit --check",
        info.name);
  }
  std::vector<std::size_t> places;
  for (const ReportPrediction& prediction : report.predictions) {
    places.push_back(prediction.position.value_or(class_token));
  }
  if (places.empty() && info.head == ModelHead::kMaskedLm) {
    throw internal::usage_error(
        "--check always: expected a mask token in the text, where the model makes its prediction, found none; write "
        "[MASK] (<mask> for RoBERTa) in place of the word to predict, or omit --check");
  }
  const std::string where = places.empty()
                                ? "auto, the text's embedding"
                                : fmt::format("{}, where the model makes its prediction", fmt::join(places, " or "));
  throw internal::usage_error("--check always: expected --output-token {}, found {}; omit --output-token or --check",
                              where, output_token);
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
template void score_methods(Report&, const TextQuestion&);
template void score_methods(Report&, const ImageQuestion&);

}  // namespace attnflow
