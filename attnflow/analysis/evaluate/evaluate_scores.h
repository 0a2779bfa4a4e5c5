// Importance scores (evaluate/importance.h) of many texts by one model: blank-out and gradients, in batches.
//
// Blank-out replaces each token in turn, including special tokens (a ranking of all tokens needs a score for CLS too),
// by a neutral one, and measures how far the target moves: n sequences for a sample of n tokens, for all targets
// together. A token that already is the neutral one scores 0 whatever it means to the model; such tokens are counted.
// Gradients are those of Gradients::input_gradients: one backward pass for each sample and target.
//
// The target (model/model.h, ScoreTarget) is about the correct or the predicted class, which may differ between
// samples. Samples run in chunks, so memory other than for the scores does not grow with their number. Deterministic:
// same input, same bits, whatever the number of threads.
#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_samples.h"
#include "attnflow/base/progress.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

struct EncodedSample {
  std::size_t number = 0;  // its place among the samples that were read
  TextInput input;
  std::vector<InputToken> tokens;
  std::optional<std::size_t> label;
  // Filled in by predict().
  std::vector<float> logits;
  std::size_t predicted = 0;

  std::size_t correct() const { return label.value_or(predicted); }
};

enum class ImportanceMethod { kBlankOut, kGradient, kGradientTimesInput, kGradientSum };

enum class TargetClass { kCorrect, kPredicted, kNamed };

struct TargetRule {
  ScoreTarget::Kind kind = ScoreTarget::Kind::kProbability;
  TargetClass which = TargetClass::kCorrect;
  std::size_t label = 0;  // for kNamed
};

// The names are those of the command line: "gradient", "logit:positive".
struct ScoreQuestion {
  ImportanceMethod method = ImportanceMethod::kBlankOut;
  TargetRule target;
  std::string method_name;
  std::string target_name;
};

// "blank-out", "gradient", "gradient-x-input" or "gradient-sum". Throws Error(kUsage).
ImportanceMethod parse_importance_method(const std::string& name);

// KIND or KIND:CLASS; KIND is logit, probability or difference (of the class's probability and the largest of the
// others); CLASS is correct (the default), predicted, or a class of the model by name or number. Throws Error(kUsage).
TargetRule parse_target(const std::string& name, const ModelInfo& info);

// "probability:correct" for "probability": the name with its class.
std::string full_target_name(const std::string& name);

ScoreTarget resolve_target(const TargetRule& rule, const EncodedSample& sample);

struct ScoringOptions {
  std::string blank = "auto";  // unk, mask, pad; auto: unk, else mask
  PhaseStart progress = {};
  std::stop_token stop_token = {};
  std::optional<std::size_t> position = {};  // of the mask that a masked language model fills in
};

void predict(TextModel& model, std::vector<EncodedSample>& samples, const ScoringOptions& options = {});

struct SampleScores {
  std::vector<std::vector<double>> values;  // [sample][token]
  std::size_t noise = 0;                    // kGradientSum: samples whose sums are rounding noise
};

struct ScoreResult {
  std::vector<SampleScores> scores;  // one for each question, in their order
  std::string blank;                 // the piece that stood in for blanked tokens; "" without blank-out
  std::size_t already_blank = 0;     // tokens that were it before
};

// Throws Error(kUsage) when the tokenizer lacks the blank token; what Gradients::input_gradients throws.
ScoreResult importance_scores(TextModel& model, const TextCodec& tokenizer, const std::vector<EncodedSample>& samples,
                              const std::vector<ScoreQuestion>& questions, const ScoringOptions& options = {});

}  // namespace attnflow
