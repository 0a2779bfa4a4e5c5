// What a model's head predicts of a text, and which of its predictions is explained. Each head is a task, in a file of
// its own; explain_text() (analysis/text/explain_text.h) is the same for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

// The inputs of every task, all of which outlive it.
struct TextQuestionAsked {
  TextModel& model;
  const TextCodec& codec;
  const TextInput& given;  // the text's
  const TextInput& input;  // with blanked tokens
  const ExplainOptions& options;
  Report& report;           // with the text's tokens; the task adds predictions and notes
  std::size_t reading = 0;  // where a decoder predicts for the whole text
  bool explains = false;    // a prediction is explained: by the mixing, or a method
};

class TextTask {
 public:
  explicit TextTask(const TextQuestionAsked& asked) : asked_(asked) {}
  virtual ~TextTask() = default;

  // Throws Error(kUsage) for options that do not fit the head, before the model runs.
  virtual void check() const;
  // Returns what the target's options ask for; throws as asked_target() does.
  virtual AskedTarget ask();
  // The output token, where the options name none: `usual` is that of an encoder or decoder. May run the model.
  virtual std::size_t output_token(std::size_t usual, const AskedTarget& asked);
  // The positions whose logits are needed.
  virtual std::vector<std::size_t> logit_positions(std::size_t output) = 0;
  // The prediction that is explained at the output token, after the run.
  virtual ReportTarget target(const AskedTarget& asked, const ModelOutput& output, std::size_t token) = 0;
  // The value of that target as the model is asked for it, for others than logits.
  virtual ScoreTarget score(const ReportTarget& target) const;
  // Whether the model predicts something at the output token, so that maps of attention can be checked.
  virtual bool ends_in(std::size_t token) const = 0;
  virtual void add_predictions(const ModelOutput& output, std::size_t token) = 0;
  // Tokens that the prediction replaces are no content.
  virtual bool is_predicted(std::size_t /*token*/) const { return false; }
  // Whether the output token, the report's last, stands for the mean of all others.
  virtual bool is_pooled() const { return false; }

 protected:
  const TextQuestionAsked& asked() const { return asked_; }
  const ModelInfo& info() const { return asked_.model.info(); }
  Report& report() const { return asked_.report; }

 private:
  TextQuestionAsked asked_;
};

std::unique_ptr<TextTask> text_task(const TextQuestionAsked& asked);

// The heads; text_task() chooses.
std::unique_ptr<TextTask> class_task(const TextQuestionAsked& asked);
std::unique_ptr<TextTask> token_class_task(const TextQuestionAsked& asked);
std::unique_ptr<TextTask> answer_task(const TextQuestionAsked& asked);
std::unique_ptr<TextTask> mask_task(const TextQuestionAsked& asked);
std::unique_ptr<TextTask> next_token_task(const TextQuestionAsked& asked);
std::unique_ptr<TextTask> embedding_task(const TextQuestionAsked& asked);

// Whether the output is the mean of all tokens' states, which gets a token of its own. Not with kept attention, which
// is between the model's tokens.
bool has_pooled_output(const ModelInfo& info, const ExplainOptions& options);

// Parts that tasks share.
std::vector<ReportChoice> choices_of(const std::vector<Prediction>& predictions);
// The ids of options.candidates, one token each. Throws Error(kUsage).
std::vector<std::int64_t> candidate_ids(const TextQuestionAsked& asked);
// A prediction of words, with the candidates' probabilities.
ReportPrediction word_prediction(const TextQuestionAsked& asked, const char* kind, std::size_t position,
                                 std::span<const float> logits, const std::vector<std::int64_t>& candidates);

}  // namespace attnflow
