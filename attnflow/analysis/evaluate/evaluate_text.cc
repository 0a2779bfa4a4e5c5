#include "attnflow/analysis/evaluate/evaluate_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attnflow/analysis/evaluate/evaluate_correlations.h"
#include "attnflow/analysis/text/blank_token.h"
#include "attnflow/analysis/text/text_input.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/format_error.h"
#include "attnflow/base/progress.h"
#include "attnflow/metrics/importance.h"
#include "attnflow/metrics/rank_correlation.h"
#include "attnflow/metrics/relevance.h"
#include "attnflow/model/model_input.h"
#include "attnflow/model/prediction.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow {
namespace {

void check_options(const TextEvaluationOptions& options) {
  const ExplainOptions& explain = options.explain;
  const auto refuse = [](const char* option, const char* why) {
    throw internal::usage_error("{} is not available in an evaluation, {}", option, why);
  };
  if (explain.settings.words) refuse("--words", "which scores the model's own tokens");
  if (explain.settings.output_token.kind == OutputToken::Kind::kAll)
    refuse("--output-token all", "which compares one output token");
  if (!explain.blank.empty()) refuse("--blank", "which blanks every token in turn");
  if (explain.only_output_token) refuse("--only-output-token", "which needs the matrices");
}

void check_head(const ModelInfo& info) {
  check_one_text(info);
  if (info.head == ModelHead::kClassification) {
    check_classifier(info);
  } else if (info.head == ModelHead::kTokenClassification) {
    throw internal::model_error(
        "expected a model that predicts a class of the text, or a token, found {}, which predicts a class of every "
        "token; attnflow explain --method blank-out compares one of them",
        info.name);
  } else if (info.head == ModelHead::kQuestionAnswering) {
    throw internal::model_error(
        "expected a text classifier or a language model, found {}, a question-answering model; use attnflow explain "
        "--method blank-out for a single answer",
        info.name);
  } else if (info.head == ModelHead::kEmbedding) {
    throw internal::model_error(
        "expected a text classifier or a language model, found {}, a sentence encoder; use attnflow explain for the "
        "embedding of a single text",
        info.name);
  } else if (info.head == ModelHead::kNone) {
    throw internal::model_error(
        "expected a model that predicts something (a classification or language model's head), found none in {}",
        info.name);
  }
}

// Scores the text by what its head predicts: a class, the token at the mask, or the one that follows.
void score_text(TextModel& model, const TextCodec& codec, EncodedSample sample, std::optional<std::size_t> mask,
                const TextEvaluationOptions& options, TextEvaluation& result) {
  using Kind = ScoreTarget::Kind;
  const ScoringOptions scoring{options.blank, options.progress, options.explain.stop_token, mask};
  std::vector<EncodedSample> samples = {std::move(sample)};
  predict(model, samples, scoring);
  const ModelInfo& info = model.info();
  const EncodedSample& only = samples.front();
  const bool of_class = info.head == ModelHead::kClassification;
  const auto of_predicted = [](Kind kind) { return TargetRule{kind, TargetClass::kPredicted, 0}; };
  const std::string label =
      of_class ? info.labels[only.predicted] : codec.readable(static_cast<std::int64_t>(only.predicted));
  result.target = {label, target_value(resolve_target(of_predicted(Kind::kProbability), only), only.logits)};
  std::vector<ScoreQuestion> questions;
  if (of_class || mask) {
    questions.push_back({ImportanceMethod::kBlankOut, of_predicted(Kind::kProbability), "blank-out",
                         fmt::format("probability of {}", label)});
  }
  if (of_class) {
    const TargetRule difference = of_predicted(Kind::kProbabilityDifference);
    const std::string& other = info.labels[resolve_target(difference, only).others.front()];
    questions.push_back(
        {ImportanceMethod::kGradient, difference, "gradient", fmt::format("probability of {} minus {}", label, other)});
  } else if (!mask) {
    questions.push_back(
        {ImportanceMethod::kGradient, of_predicted(Kind::kLogit), "gradient", fmt::format("logit of {}", label)});
  }
  ScoreResult found = importance_scores(model, codec, samples, questions, scoring);
  result.blank = found.blank;
  if (found.already_blank > 0) {
    result.notes.push_back({NoteCode::kTokensAlreadyBlank,
                            {{"count", found.already_blank}, {"of", only.tokens.size()}, {"blank", found.blank}}});
  }
  for (std::size_t q = 0; q < questions.size(); ++q) {
    result.scores.push_back({questions[q].method_name, questions[q].target_name, found.scores[q].values.front()});
  }
}

void correlate_text(TextEvaluation& result) {
  const Report& report = result.report;
  std::vector<bool> keep;
  for (const InputToken& token : report.input.tokens) keep.push_back(!token.special);
  std::vector<std::vector<Relevance>> relevances;
  for (const Method method : report.settings.methods) {
    const MethodValues values = method_values(report, method);
    const RelevanceOptions how{RelevanceKind::kOutputToken,
                               row_index(*values.output_tokens, report.output_token).value()};
    std::vector<Relevance>& of_method = relevances.emplace_back();
    std::vector<std::vector<double>>& shown = result.relevance.emplace_back();
    for (std::size_t l = 0; l < report.settings.layers.size(); ++l) {
      of_method.push_back(method == Method::kFlow ? relevance((*values.values)[l], report.flow_gap[l], how)
                                                  : relevance((*values.values)[l], how));
      shown.push_back(of_method.back().values);
    }
  }
  for (const TextScore& score : result.scores) {
    for (const bool all : {true, false}) {
      const std::vector<double> importance = all ? score.values : select(score.values, keep);
      for (std::size_t m = 0; m < relevances.size(); ++m) {
        for (std::size_t l = 0; l < relevances[m].size(); ++l) {
          const Relevance one = all ? relevances[m][l] : select(relevances[m][l], keep);
          const SpearmanOptions options{.first_gaps = one.gaps};
          result.correlations.push_back({to_text(report.settings.methods[m]), report.settings.layers[l], score.name,
                                         all ? "all" : "without-special", importance.size(),
                                         spearman(one.values, importance, options)});
        }
      }
    }
  }
}

// Scores and values of different positions are compared all the same, with a note.
void note_position(TextEvaluation& result, std::size_t scored) {
  const std::size_t shown = result.report.output_token;
  if (scored == shown) return;
  result.notes.push_back({NoteCode::kPositionsDiffer, {{"importance", scored}, {"values", shown}}});
}

}  // namespace

TextEvaluation evaluate_text(TextModel& model, const TextCodec& tokenizer, const std::string& text,
                             const std::optional<std::string>& pair, const TextEvaluationOptions& options) {
  check_options(options);
  const ModelInfo& info = model.info();
  check_head(info);
  TextEvaluation result;
  ExplainOptions explain = options.explain;
  explain.check = CheckWhen::kNever;  // which is what follows
  result.report = explain_text(model, tokenizer, text, pair, explain);
  const Report& report = result.report;
  EncodedSample sample;
  sample.input = text_input(encode_text(tokenizer, info, text, pair, options.explain.truncate));
  sample.tokens = report.input.tokens;
  std::optional<std::size_t> mask;
  if (info.head == ModelHead::kMaskedLm) {
    if (report.predictions.empty()) {
      throw internal::usage_error(
          "expected a mask token in the text, whose prediction is scored, found none; write [MASK] (<mask> for "
          "RoBERTa)");
    }
    mask = report.predictions.front().position.value();
    for (const ReportPrediction& prediction : report.predictions) {
      if (prediction.position == report.output_token) mask = report.output_token;
    }
  }
  score_text(model, tokenizer, std::move(sample), mask, options, result);
  if (info.head != ModelHead::kClassification) note_position(result, mask.value_or(report.input.tokens.size() - 1));
  correlate_text(result);
  return result;
}

}  // namespace attnflow
