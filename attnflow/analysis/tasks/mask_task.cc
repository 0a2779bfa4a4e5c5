#include <algorithm>
#include <memory>
#include <optional>

#include "attnflow/analysis/tasks/text_task.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/format_error.h"

namespace attnflow {
namespace {

// The token at each mask. Blanked masks are none.
class MaskTask final : public TextTask {
 public:
  explicit MaskTask(const TextQuestionAsked& asked) : TextTask(asked) {
    const std::optional<std::int64_t> mask = asked.codec.mask_id();
    for (std::size_t t = 0; t < asked.given.ids.size(); ++t) {
      if (mask == asked.given.ids[t] && mask == asked.input.ids[t]) masks_.push_back(t);
    }
  }

  void check() const override {
    candidate_ids(asked());
    if (!masks_.empty()) return;
    if (!asked().options.candidates.empty()) {
      throw internal::usage_error(
          "--candidates: expected a mask token in the text, found none; write [MASK] (<mask> for RoBERTa) in place of "
          "the word to predict");
    }
    if (!asked().explains) return;
    throw internal::usage_error(
        "--{}: expected a mask token in the text, whose prediction is explained, found none; write [MASK] (<mask> for "
        "RoBERTa) in place of the word to predict",
        explaining_option(asked().options.settings));
  }
  std::vector<std::size_t> logit_positions(std::size_t) override { return masks_; }
  // Among several masks, the one in question.
  ReportTarget target(const AskedTarget& wanted, const ModelOutput& output, std::size_t token) override {
    const auto found = std::find(masks_.begin(), masks_.end(), token);
    const std::size_t which = found == masks_.end() ? 0 : static_cast<std::size_t>(found - masks_.begin());
    return chosen_target(wanted, info(), &asked().codec, output.logits[which].span(), masks_[which]);
  }
  bool ends_in(std::size_t token) const override { return is_predicted(token); }
  void add_predictions(const ModelOutput& output, std::size_t) override {
    const std::vector<std::int64_t> candidates = candidate_ids(asked());
    for (std::size_t m = 0; m < masks_.size(); ++m) {
      report().predictions.push_back(
          word_prediction(asked(), "masked", masks_[m], output.logits[m].span(), candidates));
    }
  }
  bool is_predicted(std::size_t token) const override {
    return std::find(masks_.begin(), masks_.end(), token) != masks_.end();
  }

 private:
  std::vector<std::size_t> masks_;
};

}  // namespace

std::unique_ptr<TextTask> mask_task(const TextQuestionAsked& asked) { return std::make_unique<MaskTask>(asked); }

}  // namespace attnflow
