#include <memory>

#include "attnflow/analysis/tasks/text_task.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/model/prediction.h"

namespace attnflow {
namespace {

// A class of the whole text: read at an encoder's first token, or at a decoder's last that is not padding.
class ClassTask final : public TextTask {
 public:
  using TextTask::TextTask;

  // The position is that in the text as given: blanking tokens by padding does not move it.
  std::size_t output_token(std::size_t usual, const AskedTarget&) override {
    return info().causal ? asked().reading : usual;
  }
  std::vector<std::size_t> logit_positions(std::size_t) override {
    return info().causal ? std::vector<std::size_t>{asked().reading} : std::vector<std::size_t>{};
  }
  ReportTarget target(const AskedTarget& wanted, const ModelOutput& output, std::size_t) override {
    return chosen_target(wanted, info(), nullptr, output.logits.span(), std::nullopt);
  }
  bool ends_in(std::size_t token) const override {
    return info().causal ? token == asked().reading : token == 0 && report().input.tokens[token].special;
  }
  void add_predictions(const ModelOutput& output, std::size_t) override {
    report().predictions.push_back(
        {"classification", {}, choices_of(class_predictions(info(), output.logits.span())), {}});
  }
};

}  // namespace

std::unique_ptr<TextTask> class_task(const TextQuestionAsked& asked) { return std::make_unique<ClassTask>(asked); }

}  // namespace attnflow
