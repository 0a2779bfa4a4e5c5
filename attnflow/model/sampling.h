// Chooses the next token from a decoder's logits.
//
// Greedy (temperature 0): the largest logit, or the smallest id among equal ones. Otherwise the probabilities are
//
//     p_i = exp(z_i / T) / sum over k of exp(z_k / T),
//
// truncated to the nucleus (Holtzman et al., ICLR 2020): the smallest set of most probable tokens whose probabilities
// sum to at least top_p, with ties broken by id. One of them is drawn in proportion. The computation uses float64 and
// its own random generator: the same logits, options and seed give the same token on every machine.
#pragma once

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
  // Returns the next token. Throws Error(kBadFile) when a logit is not a number, or none is finite.
  std::size_t choose(std::span<const float> logits);

 private:
  SamplingOptions options_;
  Random random_;
};

// softmax(logits) for one token, or for the `count` most probable tokens (ties broken by id), in float64.
struct TokenProbability {
  std::size_t id = 0;
  double probability = 0.0;
};
double token_probability(std::span<const float> logits, std::size_t id);
std::vector<TokenProbability> most_probable(std::span<const float> logits, std::size_t count);

}  // namespace attnflow
