#include <memory>

#include "attnflow/analysis/tasks/text_task.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/base/format_error.h"

namespace attnflow {
namespace {

// The token that follows the text or, where a prediction is explained, the output token.
class NextTokenTask final : public TextTask {
 public:
  using TextTask::TextTask;

  void check() const override { candidate_ids(asked()); }
  std::vector<std::size_t> logit_positions(std::size_t output) override {
    const std::size_t source = asked().given.source;
    if (position(output) < source) {
      throw internal::usage_error(
          "--output-token: expected a token of the target, from {} to {}, after which {} predicts the next one, found "
          "token {} of the source; omit it, or explain attention alone (--mixing attention with raw, rollout or flow)",
          source, report().input.tokens.size() - 1, info().name, output);
    }
    return {position(output)};
  }
  ReportTarget target(const AskedTarget& wanted, const ModelOutput& output, std::size_t token) override {
    return chosen_target(wanted, info(), &asked().codec, output.logits[0].span(), position(token));
  }
  bool ends_in(std::size_t token) const override { return token == position(token); }
  void add_predictions(const ModelOutput& output, std::size_t token) override {
    report().predictions.push_back(
        word_prediction(asked(), "next", position(token), output.logits[0].span(), candidate_ids(asked())));
  }

 private:
  std::size_t position(std::size_t output) const {
    return asked().explains ? output : report().input.tokens.size() - 1;
  }
};

}  // namespace

std::unique_ptr<TextTask> next_token_task(const TextQuestionAsked& asked) {
  return std::make_unique<NextTokenTask>(asked);
}

}  // namespace attnflow
