// Converts a model's logits to predictions with probabilities.
//
// Probabilities are computed in float64 from float32 logits. Order is deterministic: by decreasing logit, then by
// increasing id. A non-finite logit throws Error(kBadFile): the model's weights are unusable.
//
// Example:
//
//     const std::vector<float> logits = {0.0F, 2.0F, 1.0F};
//     const auto name = [](std::int64_t id) { return "token " + std::to_string(id); };
//     assert(top_predictions(logits, 1, name).front().text == "token 1");
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attnflow {

struct Prediction {
  std::int64_t id = 0;       // class number or token id
  std::string text;          // class name or token text
  double probability = 0.0;  // in [0, 1]
  double logit = 0.0;
};

// A token id's text, as from Tokenizer::readable.
using IdToText = std::function<std::string(std::int64_t)>;

void require_finite(std::span<const float> logits);

// The `count` (or fewer) places with the largest logits for which `admits` holds, the largest first; of equal ones, the
// first.
template <typename Admits>
std::vector<std::size_t> largest_logits(std::span<const float> logits, std::size_t count, const Admits& admits) {
  const auto before = [&](std::size_t a, std::size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::vector<std::size_t> found;  // a heap with the smallest on top
  for (std::size_t i = 0; i < logits.size() && count > 0; ++i) {
    if (found.size() == count && !before(i, found.front())) continue;
    if (!admits(i)) continue;
    if (found.size() == count) {
      std::pop_heap(found.begin(), found.end(), before);
      found.pop_back();
    }
    found.push_back(i);
    std::push_heap(found.begin(), found.end(), before);
  }
  std::sort_heap(found.begin(), found.end(), before);
  return found;
}
std::vector<std::size_t> largest_logits(std::span<const float> logits, std::size_t count);

// exp(x_i) / sum_j exp(x_j), shifted by the maximum to avoid overflow. Empty for no logits.
std::vector<double> softmax(std::span<const float> logits);

// Returns all classes, most probable first. `logits` has one value per label (else Error(kUsage)). Softmax over the
// classes; if they do not exclude each other (multi_label), or there is only one, each gets 1 / (1 + exp(-x)).
std::vector<Prediction> class_predictions(std::span<const std::string> labels, bool multi_label,
                                          std::span<const float> logits);

// Returns the k (or all) most probable tokens at one position, most probable first. `logits` spans the vocabulary.
std::vector<Prediction> top_predictions(std::span<const float> logits, std::size_t k, const IdToText& text);

// Returns the given tokens' probabilities over the whole vocabulary, in order. Throws Error(kUsage) for an unknown id.
std::vector<Prediction> candidate_predictions(std::span<const float> logits, std::span<const std::int64_t> ids,
                                              const IdToText& text);

// An answer in the text: tokens [first, last].
struct AnswerSpan {
  std::size_t first = 0;
  std::size_t last = 0;
  double probability = 0.0;
};

// Returns the k most probable answers of at most kLongestAnswer tokens that begin and end in `places` (increasing
// positions). `begins` and `ends` have one logit per token. A probability is the product of two softmaxes, each over
// the places and the token that stands for no answer, if any. Most probable first; ties in text order.
inline constexpr std::size_t kLongestAnswer = 15;
std::vector<AnswerSpan> answer_spans(std::span<const float> begins, std::span<const float> ends,
                                     std::span<const std::size_t> places, std::optional<std::size_t> no_answer,
                                     std::size_t k);

}  // namespace attnflow
