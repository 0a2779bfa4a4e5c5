#include "attnflow/analysis/evaluate/evaluate_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attnflow/analysis/evaluate/evaluate_correlations.h"
#include "attnflow/analysis/explain/blank_token.h"
#include "attnflow/analysis/explain/text_input.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/format_error.h"
#include "attnflow/base/progress.h"
#include "attnflow/evaluate/importance.h"
#include "attnflow/evaluate/rank_correlation.h"
#include "attnflow/evaluate/relevance.h"
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

void score_classifier(Encoder& model, const TextCodec& tokenizer, EncodedSample sample,
                      const TextEvaluationOptions& options, TextEvaluation& result) {
  const ScoringOptions scoring{options.blank, options.progress, options.explain.stop_token};
  std::vector<EncodedSample> samples = {std::move(sample)};
  predict(model, samples, scoring);
  const ModelInfo& info = model.info();
  const EncodedSample& only = samples.front();
  const TargetRule probability{ScoreTarget::Kind::kProbability, TargetClass::kPredicted, 0};
  const TargetRule difference{ScoreTarget::Kind::kProbabilityDifference, TargetClass::kPredicted, 0};
  const std::string& label = info.labels[only.predicted];
  const std::string& other = info.labels[resolve_target(difference, only).others.front()];
  result.target = {label, target_value(resolve_target(probability, only), only.logits)};
  const std::vector<ScoreQuestion> questions = {
      {ImportanceMethod::kBlankOut, probability, "blank-out", fmt::format("probability of {}", label)},
      {ImportanceMethod::kGradient, difference, "gradient", fmt::format("probability of {} minus {}", label, other)}};
  ScoreResult found = importance_scores(model, tokenizer, samples, questions, scoring);
  result.blank = found.blank;
  if (found.already_blank > 0) {
    result.notes.push_back({NoteCode::kTokensAlreadyBlank,
                            {{"count", found.already_blank}, {"of", only.tokens.size()}, {"blank", found.blank}}});
  }
  for (std::size_t q = 0; q < questions.size(); ++q) {
    result.scores.push_back({questions[q].method_name, questions[q].target_name, found.scores[q].values.front()});
  }
}

void score_masked(TextModel& model, const TextCodec& tokenizer, const EncodedSample& sample, std::size_t position,
                  const TextEvaluationOptions& options, TextEvaluation& result) {
  const BlankToken blank = find_blank_token(tokenizer, model.info(), options.blank);
  result.blank = blank.piece;
  const std::size_t n = sample.input.ids.size();
  const ProgressFunction progress = options.progress ? options.progress("blank-out") : ProgressFunction{};
  RunOptions run;
  run.logit_positions = {position};
  TextInput input = sample.input;
  const auto probabilities = [&] {
    if (options.explain.stop_token.stop_requested()) throw Cancelled();
    const ModelOutput output = model.run(input, nullptr, run);
    return softmax(output.logits[0].span());
  };
  const std::vector<double> base = probabilities();
  const auto likeliest = static_cast<std::size_t>(std::max_element(base.begin(), base.end()) - base.begin());
  std::vector<double> blanked(n, base[likeliest]);
  for (std::size_t j = 0; j < n; ++j) {
    const std::int64_t id = std::exchange(input.ids[j], blank.id);
    if (id != blank.id) blanked[j] = probabilities()[likeliest];
    input.ids[j] = id;
    if (progress) progress(j + 1, n);
  }
  const std::string label = tokenizer.readable(static_cast<std::int64_t>(likeliest));
  result.target = {label, base[likeliest]};
  result.scores.push_back(
      {"blank-out", fmt::format("probability of {}", label), blank_out_importance(base[likeliest], blanked)});
}

void score_decoder(TextModel& model, const TextCodec& tokenizer, const EncodedSample& sample,
                   const TextEvaluationOptions& options, TextEvaluation& result) {
  RunOptions run;
  run.logit_positions = {sample.input.ids.size() - 1};
  const ModelOutput output = model.run(sample.input, nullptr, run);
  const std::vector<double> probability = softmax(output.logits[0].span());
  const auto likeliest =
      static_cast<std::size_t>(std::max_element(probability.begin(), probability.end()) - probability.begin());
  const std::string label = tokenizer.readable(static_cast<std::int64_t>(likeliest));
  result.target = {label, probability[likeliest]};
  BatchOptions batch;
  if (options.progress) batch.progress = options.progress("gradient");
  batch.stop_token = options.explain.stop_token;
  const ScoreTarget target{.kind = ScoreTarget::Kind::kLogit, .label = likeliest};
  const std::vector<InputGradient> found = gradients_of(model).input_gradients({&sample.input, 1}, {&target, 1}, batch);
  result.scores.push_back(
      {"gradient", fmt::format("logit of {}", label), gradient_norm(found.front().gradient.view())});
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
  if (info.head == ModelHead::kClassification) {
    score_classifier(*model.encoder(), tokenizer, std::move(sample), options, result);
  } else if (info.head == ModelHead::kMaskedLm) {
    if (report.predictions.empty()) {
      throw internal::usage_error(
          "expected a mask token in the text, whose prediction is scored, found none; write [MASK] (<mask> for "
          "RoBERTa)");
    }
    std::size_t position = report.predictions.front().position.value();
    for (const ReportPrediction& prediction : report.predictions) {
      if (prediction.position == report.output_token) position = report.output_token;
    }
    score_masked(model, tokenizer, sample, position, options, result);
    note_position(result, position);
  } else {
    score_decoder(model, tokenizer, sample, options, result);
    note_position(result, report.input.tokens.size() - 1);
  }
  correlate_text(result);
  return result;
}

}  // namespace attnflow
