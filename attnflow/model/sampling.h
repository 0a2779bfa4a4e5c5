// Choosing the next token from a decoder's logits.
//
// Greedy (temperature 0): the largest logit, of equal ones the smallest id. Else the probabilities are
//
//     p_i = exp(z_i / T) / sum over k of exp(z_k / T),
//
// cut to the nucleus (Holtzman et al., ICLR 2020): the fewest most probable tokens whose probabilities sum to at least
// top_p, equal ones by id; one of them is drawn in proportion. float64 and our own generator: the same logits, options
// and seed give the same token on every machine.
#ifndef ATTNFLOW_MODEL_SAMPLING_H_
#define ATTNFLOW_MODEL_SAMPLING_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnflow/base/random.h"

namespace attnflow {

struct SamplingOptions {
  double temperature = 0.0;  // T >= 0
  double top_p = 1.0;        // in (0, 1]
  std::uint64_t seed = 1;
};

class Sampler {
 public:
  // Throws Error(kUsage) for options out of range.
  explicit Sampler(const SamplingOptions& options);
  // The next token. Throws Error(kBadFile) when a logit is not a number, or none is finite.
  std::size_t choose(std::span<const float> logits);

 private:
  SamplingOptions options_;
  Random random_;
};

// softmax(logits) of one token, and of the `count` most probable (equal ones by id): float64.
struct TokenProbability {
  std::size_t id = 0;
  double probability = 0.0;
};
double token_probability(std::span<const float> logits, std::size_t id);
std::vector<TokenProbability> most_probable(std::span<const float> logits, std::size_t count);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_SAMPLING_H_
