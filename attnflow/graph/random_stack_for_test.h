// Seeded random attention, for tests of every module above graph.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "attnflow/graph/attention_stack.h"

namespace attnflow {

struct RandomStackOptions {
  std::size_t layers = 2;
  std::size_t heads = 2;
  std::size_t tokens = 5;
  bool causal = false;
  double sharpness = 2.0;  // standard deviation of the scores: 0 uniform, 8 nearly one-hot
  bool sink = false;       // the first key gets a large score, as in decoders
  int quantum = 0;         // when > 0, weights are multiples of 1 / quantum: exact ties and zeros
  std::uint64_t seed = 1;
};

// Softmax of normal scores, in float32 as in models.
inline AttentionStack random_stack(const RandomStackOptions& options) {
  std::mt19937_64 random(options.seed);
  std::normal_distribution<double> score(0.0, options.sharpness);
  const std::size_t n = options.tokens;
  Tensor<float> weights({options.layers, options.heads, n, n});
  float* row = weights.data();
  for (std::size_t r = 0; r < options.layers * options.heads * n; ++r, row += n) {
    const std::size_t seen = options.causal ? r % n + 1 : n;
    if (options.quantum > 0) {
      std::uniform_int_distribution<std::size_t> pick(0, seen - 1);
      const float unit = 1.0F / static_cast<float>(options.quantum);
      for (int unit_count = 0; unit_count < options.quantum; ++unit_count) row[pick(random)] += unit;
      continue;
    }
    double sum = 0.0;
    std::vector<double> scores(seen);
    for (std::size_t k = 0; k < seen; ++k) {
      scores[k] = std::exp(score(random) + (options.sink && k == 0 ? 4.0 : 0.0));
      sum += scores[k];
    }
    for (std::size_t k = 0; k < seen; ++k) row[k] = static_cast<float>(scores[k] / sum);
  }
  return AttentionStack(std::move(weights));
}

}  // namespace attnflow
