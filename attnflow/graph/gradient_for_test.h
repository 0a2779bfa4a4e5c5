// Seeded random gradients of attention, and gradient mixing by its definition, for tests of every module above graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/gradient_mixing.h"

namespace attnflow {

// A gradient of the stack's shape, with both signs; `scale` is its standard deviation.
inline Tensor<float> random_gradient(const AttentionStack& stack, double scale = 1.0, std::uint64_t seed = 11) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> value(0.0, scale);
  Tensor<float> gradient(stack.weights().shape());
  for (float& g : gradient.span()) g = static_cast<float>(value(random));
  return gradient;
}

inline void send_down(const AttentionStack& stack, const Tensor<float>& gradient, AttentionGradientSink& sink) {
  for (std::size_t l = stack.layers(); l >= 1; --l) {
    sink.layer({.layer = l, .attention = stack.layer(l), .attention_gradient = gradient[l - 1]});
  }
}

inline AttentionGraph gradient_graph_of(const AttentionStack& stack, const Tensor<float>& gradient,
                                        GradientMixingOptions options = {}) {
  GradientGraphSink sink(stack.layers(), std::move(options));
  send_down(stack, gradient, sink);
  return sink.take();
}

inline long double naive_gradient_weight(const AttentionStack& stack, const Tensor<float>& gradient, std::size_t l,
                                         std::size_t q, std::size_t k) {
  long double sum = 0.0L;
  for (std::size_t h = 0; h < stack.heads(); ++h) {
    const long double product =
        static_cast<long double>(gradient(l - 1, h, q, k)) * static_cast<long double>(stack.weights()(l - 1, h, q, k));
    if (product > 0.0L) sum += product;
  }
  return sum / static_cast<long double>(stack.heads());
}

// The published recurrence from layer m up to l, rows of I + G_k divided by their sums if `rule` says so. [n * n].
inline std::vector<long double> naive_gradient_rollout(const AttentionStack& stack, const Tensor<float>& gradient,
                                                       std::size_t l, std::size_t m, ResidualRule rule) {
  const std::size_t n = stack.tokens();
  std::vector<long double> r(n * n, 0.0L);
  for (std::size_t i = 0; i < n; ++i) r[i * n + i] = 1.0L;
  for (std::size_t k = m + 1; k <= l; ++k) {
    std::vector<long double> next = r;
    for (std::size_t i = 0; i < n; ++i) {
      long double sum = 1.0L;
      for (std::size_t p = 0; p < n; ++p) {
        const long double weight = naive_gradient_weight(stack, gradient, k, i, p);
        sum += weight;
        for (std::size_t j = 0; j < n; ++j) next[i * n + j] += weight * r[p * n + j];
      }
      if (rule != ResidualRule::kAddedNormalized) continue;
      for (std::size_t j = 0; j < n; ++j) next[i * n + j] /= sum;
    }
    r = std::move(next);
  }
  return r;
}

}  // namespace attnflow
