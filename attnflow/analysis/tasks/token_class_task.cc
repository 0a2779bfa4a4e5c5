#include <algorithm>
#include <memory>
#include <numeric>
#include <string_view>

#include "attnflow/analysis/tasks/text_task.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/analysis/text/stop_sink.h"
#include "attnflow/attribution/note.h"
#include "attnflow/model/prediction.h"

namespace attnflow {
namespace {

// The token class that means "none".
constexpr std::string_view kNoClass = "O";

// A class of each token.
class TokenClassTask final : public TextTask {
 public:
  using TextTask::TextTask;

  std::size_t output_token(std::size_t usual, const AskedTarget&) override {
    const std::optional<std::size_t> surest = surest_token();
    if (!surest) return usual;
    report().notes.push_back({NoteCode::kOutputTokenSurest, {{"token", report().input.tokens[*surest].text}}});
    return *surest;
  }
  std::vector<std::size_t> logit_positions(std::size_t) override {
    std::vector<std::size_t> all(report().input.tokens.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  ReportTarget target(const AskedTarget& wanted, const ModelOutput& output, std::size_t token) override {
    return chosen_target(wanted, info(), &asked().codec, output.logits[token].span(), token);
  }
  bool ends_in(std::size_t) const override { return true; }
  void add_predictions(const ModelOutput& output, std::size_t token) override {
    for (std::size_t t = 0; t < report().input.tokens.size(); ++t) {
      const std::vector<Prediction> classes = class_predictions(info(), output.logits[t].span());
      const bool has_class = classes.front().text != kNoClass && !report().input.tokens[t].special;
      if (has_class || t == token) report().predictions.push_back({"token-class", t, choices_of(classes), {}});
    }
  }

 private:
  // The text's token that is surest to have a class, the first of equal ones; if no class means "none", the one whose
  // class is surest. Nothing without a token of the text.
  std::optional<std::size_t> surest_token() const {
    RunOptions run;
    for (std::size_t t = 0; t < report().input.tokens.size(); ++t) {
      if (!report().input.tokens[t].special) run.logit_positions.push_back(t);
    }
    StopSink sink({}, asked().options.stop_token);
    const ModelOutput output = asked().model.run(asked().input, &sink, run);
    std::optional<std::size_t> surest;
    double largest = -1.0;
    for (std::size_t row = 0; row < run.logit_positions.size(); ++row) {
      const std::vector<Prediction> classes = class_predictions(info(), output.logits[row].span());
      const auto none = std::find_if(classes.begin(), classes.end(), [](const auto& p) { return p.text == kNoClass; });
      const double certainty = none == classes.end() ? classes.front().probability : 1.0 - none->probability;
      if (certainty <= largest) continue;
      largest = certainty;
      surest = run.logit_positions[row];
    }
    return surest;
  }
};

}  // namespace

std::unique_ptr<TextTask> token_class_task(const TextQuestionAsked& asked) {
  return std::make_unique<TokenClassTask>(asked);
}

}  // namespace attnflow
