// Logits to predictions: what the model says, with probabilities.
//
// Probabilities are computed in float64 from the model's float32 logits. Orders are deterministic: by falling logit,
// then by rising id. A logit that is not finite throws Error(kBadFile): the weights hold values that cannot be used.
#ifndef ATTNFLOW_MODEL_PREDICTION_H_
#define ATTNFLOW_MODEL_PREDICTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attnflow/model/model.h"

namespace attnflow {

struct Prediction {
  std::int64_t id = 0;       // number of the class, or token id
  std::string text;          // name of the class, or the token's text
  double probability = 0.0;  // in [0, 1]
  double logit = 0.0;
};

// Text of a token id, such as Tokenizer::readable.
using IdToText = std::function<std::string(std::int64_t)>;

// exp(x_i) / sum_j exp(x_j), shifted by the maximum so that no exponential overflows. Empty for no logits.
std::vector<double> softmax(std::span<const float> logits);

// The number that `target` explains, of the logits that it is about, in float64. Throws Error(kUsage) for a label that
// the logits do not have.
double target_value(const ScoreTarget& target, std::span<const float> logits);

// All classes, most probable first; `logits` has one value for each of info.labels (else Error(kUsage)). Softmax over
// the classes; where classes do not exclude each other (info.multi_label) or there is only one, each is a yes or no of
// its own: 1 / (1 + exp(-x)).
std::vector<Prediction> class_predictions(const ModelInfo& info, std::span<const float> logits);

// The k most probable tokens at one position (fewer when the vocabulary is smaller), most probable first. `logits`
// spans the vocabulary: one row of ModelOutput::logits.
std::vector<Prediction> top_predictions(std::span<const float> logits, std::size_t k, const IdToText& text);

// The probabilities, over the whole vocabulary, of the tokens asked for, in the order asked. An id outside the
// vocabulary throws Error(kUsage).
std::vector<Prediction> candidate_predictions(std::span<const float> logits, std::span<const std::int64_t> ids,
                                              const IdToText& text);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_PREDICTION_H_
