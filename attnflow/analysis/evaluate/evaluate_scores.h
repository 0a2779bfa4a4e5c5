// Importance scores of many sentences by one classifier: blank-out and gradients, in batches.
//
// evaluate/importance.h has the formulas; here the model is run for them.
//
// Blank-out replaces each token in turn, special tokens included (a ranking of all tokens needs a score for CLS too),
// by one that says nothing, and looks how far the target moves: n sequences for a sample of n tokens, for all targets
// together. A token that is that token already scores 0 whatever it means to the model; such tokens are counted.
// Gradients are those of Gradients::input_gradients: one backward pass a sample and target.
//
// The target is one number that follows from the logits (model/model.h, ScoreTarget). Which class it is about may
// differ from sample to sample: the correct one, or the predicted one.
//
// Samples are run a chunk at a time, so memory does not grow with their number but for the scores themselves.
// Deterministic: same input, same bits, whatever the number of threads.
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

// A sample as the model sees it.
struct EncodedSample {
  std::size_t number = 0;  // its place among the samples that were read
  TextInput input;
  std::vector<InputToken> tokens;
  std::optional<std::size_t> label;
  // What the model says of it; filled in by predict().
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

// One score to compute. The names are those of the command line: "gradient", "logit:positive".
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

// What a sample's target is, by the sample's own logits.
ScoreTarget resolve_target(const TargetRule& rule, const EncodedSample& sample);

struct ScoringOptions {
  std::string blank = "auto";  // unk, mask, pad; auto: unk, else mask
  PhaseStart progress = {};
  std::stop_token stop_token = {};
};

// Fills in logits and predicted class of every sample.
void predict(Encoder& model, std::vector<EncodedSample>& samples, const ScoringOptions& options = {});

struct SampleScores {
  std::vector<std::vector<double>> values;  // [sample][token]
  std::size_t noise = 0;                    // kGradientSum: samples whose sums are rounding noise
};

struct ScoreResult {
  std::vector<SampleScores> scores;  // one for each question, in their order
  std::string blank;                 // the piece that stood in for blanked tokens; "" without blank-out
  std::size_t already_blank = 0;     // tokens that were it before
};

// Throws Error(kUsage) when the tokenizer lacks the token that blanks; what Gradients::input_gradients throws.
ScoreResult importance_scores(Encoder& model, const TextCodec& tokenizer, const std::vector<EncodedSample>& samples,
                              const std::vector<ScoreQuestion>& questions, const ScoringOptions& options = {});

}  // namespace attnflow
