#include "attnflow/analysis/tasks/text_task.h"

#include <fmt/format.h>

#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/base/format_error.h"

namespace attnflow {
namespace {

// A model without a head: nothing is predicted.
class NoTask final : public TextTask {
 public:
  using TextTask::TextTask;
  std::vector<std::size_t> logit_positions(std::size_t) override { return {}; }
  ReportTarget target(const AskedTarget&, const ModelOutput&, std::size_t) override { return {}; }
  bool ends_in(std::size_t) const override { return false; }
  void add_predictions(const ModelOutput&, std::size_t) override {}
};

}  // namespace

void TextTask::check() const {
  if (asked_.options.candidates.empty()) return;
  throw internal::usage_error(
      "--candidates: expected a model that predicts words (masked or causal language model), found no such head in {}",
      info().name);
}

AskedTarget TextTask::ask() {
  AskedTarget found = asked_target(asked_.options.settings, info(), &asked_.codec, report().notes);
  const std::vector<std::int64_t> candidates = candidate_ids(asked_);
  ask_among(found, asked_.options.settings, candidates);
  return found;
}

ScoreTarget TextTask::score(const ReportTarget& target) const { return score_target(target); }

std::size_t TextTask::output_token(std::size_t usual, const AskedTarget& /*asked*/) { return usual; }

std::unique_ptr<TextTask> text_task(const TextQuestionAsked& asked) {
  switch (asked.model.info().head) {
    case ModelHead::kClassification:
      return class_task(asked);
    case ModelHead::kTokenClassification:
      return token_class_task(asked);
    case ModelHead::kQuestionAnswering:
      return answer_task(asked);
    case ModelHead::kMaskedLm:
      return mask_task(asked);
    case ModelHead::kCausalLm:
      return next_token_task(asked);
    case ModelHead::kEmbedding:
      return embedding_task(asked);
    case ModelHead::kNone:
      break;
  }
  return std::make_unique<NoTask>(asked);
}

std::vector<ReportChoice> choices_of(const std::vector<Prediction>& predictions) {
  std::vector<ReportChoice> choices;
  for (const Prediction& one : predictions) choices.push_back({one.text, one.probability});
  return choices;
}

std::vector<std::int64_t> candidate_ids(const TextQuestionAsked& asked) {
  std::vector<std::int64_t> ids;
  for (const std::string& word : asked.options.candidates) {
    const std::vector<std::int64_t> pieces = asked.codec.word_to_ids(word);
    if (pieces.size() != 1) {
      throw internal::usage_error("--candidates: expected words that are one token each, found '{}', which is {}", word,
                                  pieces.empty() ? "no token" : fmt::format("{} tokens", pieces.size()));
    }
    ids.push_back(pieces.front());
  }
  return ids;
}

ReportPrediction word_prediction(const TextQuestionAsked& asked, const char* kind, std::size_t position,
                                 std::span<const float> logits, const std::vector<std::int64_t>& candidates) {
  const auto readable = [&](std::int64_t id) { return asked.codec.readable(id); };
  ReportPrediction prediction{
      kind, position, choices_of(top_predictions(logits, asked.options.settings.top_k, readable)), {}};
  const std::vector<Prediction> among = candidate_predictions(logits, candidates, readable);
  for (std::size_t c = 0; c < among.size(); ++c) {
    prediction.candidates.push_back({asked.options.candidates[c], among[c].probability});
  }
  return prediction;
}

}  // namespace attnflow
