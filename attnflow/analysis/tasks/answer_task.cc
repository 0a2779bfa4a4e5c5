#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "attnflow/analysis/tasks/text_task.h"
#include "attnflow/analysis/text/stop_sink.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/words.h"
#include "attnflow/base/format_error.h"

namespace attnflow {
namespace {

// Answers to a question, the text, which are parts of the pair. The first token of an answer is explained.
class AnswerTask final : public TextTask {
 public:
  using TextTask::TextTask;

  AskedTarget ask() override { return asked_begin(asked().options.settings, report().input.tokens.size()); }
  std::size_t output_token(std::size_t, const AskedTarget& wanted) override {
    const std::size_t begin = wanted.label.value_or(answers().front().first);
    if (!wanted.label) {
      report().notes.push_back({NoteCode::kOutputTokenAnswer, {{"token", report().input.tokens[begin].text}}});
    }
    return begin;
  }
  std::vector<std::size_t> logit_positions(std::size_t) override {
    answers();
    return {};
  }
  ReportTarget target(const AskedTarget& wanted, const ModelOutput& output, std::size_t) override {
    AskedTarget begin = wanted;
    if (!begin.label) begin.label = answers().front().first;
    const auto name = [&](std::int64_t t) { return display_text(report().input, static_cast<std::size_t>(t)); };
    return target_among(begin, "answer", output.logits[0].span(), name, std::nullopt);
  }
  bool ends_in(std::size_t token) const override { return token == answers_.front().first; }
  void add_predictions(const ModelOutput&, std::size_t) override {
    ReportPrediction prediction{.kind = "answer", .position = answers_.front().first, .choices = {}, .candidates = {}};
    for (const AnswerSpan& answer : answers_) {
      const std::size_t begin = *report().input.tokens[answer.first].begin;
      const std::size_t end = *report().input.tokens[answer.last].end;
      prediction.choices.push_back({report().input.text_pair.substr(begin, end - begin), answer.probability});
    }
    report().predictions.push_back(std::move(prediction));
  }

 private:
  // Runs the model the first time.
  const std::vector<AnswerSpan>& answers() {
    if (answers_.empty()) find_answers();
    return answers_;
  }

  void find_answers() {
    const std::vector<InputToken>& tokens = report().input.tokens;
    std::vector<std::size_t> places;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      if (tokens[t].segment == 1 && !tokens[t].special && tokens[t].begin) places.push_back(t);
    }
    if (places.empty()) {
      throw internal::usage_error(
          "{} answers questions from a second text: expected a question and that text, found no second text; pass it "
          "with --pair (\"pair\" in a request)",
          info().name);
    }
    StopSink sink({}, asked().options.stop_token);
    const ModelOutput output = asked().model.run(asked().input, &sink);
    // Models that may find no answer choose [CLS] then.
    const std::optional<std::size_t> no_answer = tokens[0].special ? std::optional<std::size_t>(0) : std::nullopt;
    const auto begins = output.logits[0].span();
    const auto ends = output.logits[1].span();
    answers_ = answer_spans(begins, ends, places, no_answer, asked().options.settings.top_k);
    if (!no_answer) return;
    const auto logit = [&](std::size_t first, std::size_t last) {
      return static_cast<double>(begins[first]) + static_cast<double>(ends[last]);
    };
    const AnswerSpan& best = answers_.front();
    const double above = logit(*no_answer, *no_answer) - logit(best.first, best.last);
    if (above > 0.0) {
      report().notes.push_back(
          {NoteCode::kNoAnswer, {{"probability", std::min(1.0, best.probability * std::exp(above))}}});
    }
  }

  std::vector<AnswerSpan> answers_;
};

}  // namespace

std::unique_ptr<TextTask> answer_task(const TextQuestionAsked& asked) { return std::make_unique<AnswerTask>(asked); }

}  // namespace attnflow
