// Logits to predictions: what a model says, with probabilities.
//
// Probabilities are computed in float64 from the model's float32 logits. Orders are deterministic: by falling logit,
// then by rising id. A logit that is not finite throws Error(kBadFile): the weights hold values that cannot be used.
//
// Example:
//
//     const std::vector<float> logits = {0.0F, 2.0F, 1.0F};
//     const auto name = [](std::int64_t id) { return "token " + std::to_string(id); };
//     assert(top_predictions(logits, 1, name).front().text == "token 1");
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attnflow {

struct Prediction {
  std::int64_t id = 0;       // number of the class, or token id
  std::string text;          // name of the class, or the token's text
  double probability = 0.0;  // in [0, 1]
  double logit = 0.0;
};

// Text of a token id, such as Tokenizer::readable.
using IdToText = std::function<std::string(std::int64_t)>;

// Throws Error(kBadFile) unless all are finite.
void require_finite(std::span<const float> logits);

// exp(x_i) / sum_j exp(x_j), shifted by the maximum so that no exponential overflows. Empty for no logits.
std::vector<double> softmax(std::span<const float> logits);

// All classes, most probable first; `logits` has one value for each of `labels` (else Error(kUsage)). Softmax over the
// classes; where classes do not exclude each other (multi_label) or there is only one, each is a yes or no of its own:
// 1 / (1 + exp(-x)).
std::vector<Prediction> class_predictions(std::span<const std::string> labels, bool multi_label,
                                          std::span<const float> logits);

// The k most probable tokens at one position (fewer when the vocabulary is smaller), most probable first. `logits`
// spans the vocabulary.
std::vector<Prediction> top_predictions(std::span<const float> logits, std::size_t k, const IdToText& text);

// The probabilities, over the whole vocabulary, of the tokens asked for, in the order asked. An id outside the
// vocabulary throws Error(kUsage).
std::vector<Prediction> candidate_predictions(std::span<const float> logits, std::span<const std::int64_t> ids,
                                              const IdToText& text);

// An answer that is a part of the text: tokens [first, last].
struct AnswerSpan {
  std::size_t first = 0;
  std::size_t last = 0;
  double probability = 0.0;
};

// The k most probable answers of at most kLongestAnswer tokens that begin and end at one of `places`, positions in
// rising order; `begins` and `ends` have a logit for each token. A probability is the product of two, each a softmax
// over the places and, where there is one, over the token that stands for no answer. Most probable first, of equal
// ones the first in the text.
inline constexpr std::size_t kLongestAnswer = 15;
std::vector<AnswerSpan> answer_spans(std::span<const float> begins, std::span<const float> ends,
                                     std::span<const std::size_t> places, std::optional<std::size_t> no_answer,
                                     std::size_t k);

}  // namespace attnflow
