#include "attnflow/rollout/capacity_rollout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "attnflow/graph/mixing.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow::capacity_rollout_test {
namespace {

constexpr std::size_t kLayers = 4;
constexpr std::size_t kTokens = 5;

// Causal relevance: rows of very different sizes, some arcs and one row of zeros.
AttentionGraph relevance(unsigned seed) {
  std::mt19937 random(seed);
  AttentionGraph graph;
  graph.residual_rule = ResidualRule::kContainedNormalized;
  graph.weights = Tensor<double>({kLayers, kTokens, kTokens});
  for (std::size_t l = 0; l < kLayers; ++l) {
    for (std::size_t p = 0; p < kTokens; ++p) {
      const double size = std::ldexp(1.0, -static_cast<int>(random() % 8U));
      for (std::size_t q = 0; q <= p; ++q) {
        if (random() % 4U != 0) graph.weights(l, p, q) = size * static_cast<double>(random() % 1000U) / 1000.0;
      }
    }
  }
  for (std::size_t q = 0; q < kTokens; ++q) graph.weights(1, 2, q) = 0.0;
  return graph;
}

// The definition, in long double.
std::vector<long double> by_definition(const AttentionGraph& graph, std::size_t t, std::size_t l, std::size_t m) {
  const auto e = [&](std::size_t k, std::size_t p, std::size_t q) {
    return static_cast<long double>(graph.weights(k - 1, p, q));
  };
  const auto carried = [&](std::size_t k, std::size_t p) {
    long double sum = 0.0L;
    for (std::size_t q = 0; q < kTokens; ++q) sum += e(k, p, q);
    return sum;
  };
  std::vector<long double> r(kTokens);
  r[t] = carried(l, t);
  for (std::size_t k = l; k > m; --k) {
    std::vector<long double> next(kTokens);
    for (std::size_t p = 0; p < kTokens; ++p) {
      std::vector<long double> w(kTokens);
      long double all = 0.0L;
      for (std::size_t q = 0; q < kTokens; ++q) {
        long double arriving = 0.0L;
        for (std::size_t other = 0; other < kTokens; ++other) arriving += e(k, other, q);
        w[q] = e(k, p, q);
        if (k > m + 1 && arriving > 0.0L) w[q] *= std::min(1.0L, carried(k - 1, q) / arriving);
        all += w[q];
      }
      for (std::size_t q = 0; q < kTokens && all > 0.0L; ++q) next[q] += std::min(r[p], carried(k, p)) * w[q] / all;
    }
    r = next;
  }
  long double sum = 0.0L;
  for (const long double value : r) sum += value;
  for (long double& value : r) value = sum > 0.0L ? value / sum : 0.0L;
  if (sum == 0.0L) r[t] = 1.0L;
  return r;
}

TEST(CapacityRollout, IsItsDefinitionForAllRowsAndForOne) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const AttentionGraph graph = relevance(seed);
    for (std::size_t m = 0; m < kLayers; ++m) {
      const Tensor<double> all = rollout(graph, {.start_layer = m});
      for (std::size_t l = m + 1; l <= kLayers; ++l) {
        for (std::size_t t = 0; t < kTokens; ++t) {
          const std::vector<long double> expected = by_definition(graph, t, l, m);
          const std::vector<double> row = rollout_row(graph, t, l, m);
          for (std::size_t j = 0; j < kTokens; ++j) {
            ASSERT_NEAR(row[j], static_cast<double>(expected[j]), 1e-13) << seed << ' ' << l << ' ' << m << ' ' << t;
            ASSERT_EQ(all(l - m - 1, t, j), row[j]);
          }
        }
      }
    }
  }
}

TEST(CapacityRollout, OneLayerIsItsProportions) {
  const AttentionGraph graph = relevance(7);
  for (std::size_t l = 1; l <= kLayers; ++l) {
    const Tensor<double> proportions = graph.top(l);
    for (std::size_t t = 0; t < kTokens; ++t) {
      const std::vector<double> row = rollout_row(graph, t, l, l - 1);
      for (std::size_t j = 0; j < kTokens; ++j) EXPECT_NEAR(row[j], proportions(t, j), 1e-15);
    }
  }
}

// Token 2 takes 0.9 from token 1, which carries 0.01 of it, all to token 0. Proportions would send 0.9 there.
TEST(CapacityRollout, DoesNotLeakThroughAPositionThatCarriesNothing) {
  AttentionGraph graph;
  graph.residual_rule = ResidualRule::kContainedNormalized;
  graph.weights = Tensor<double>({2, 3, 3});
  graph.weights(1, 2, 1) = 0.9;
  graph.weights(1, 2, 2) = 0.1;
  graph.weights(0, 1, 0) = 0.01;
  graph.weights(0, 2, 2) = 0.1;
  const std::vector<double> row = rollout_row(graph, 2, 2);
  EXPECT_NEAR(row[0], 0.01 / 0.11, 1e-12);
  EXPECT_NEAR(row[2], 0.1 / 0.11, 1e-12);
  const CapacityRollout steps(graph.weights.view(), 2, 0);
  EXPECT_DOUBLE_EQ(steps.carried(2, 2), 1.0);
  EXPECT_NEAR(steps.share(2, 2, 1), 0.9 * (0.01 / 0.9) / (0.9 * (0.01 / 0.9) + 0.1), 1e-12);
}

}  // namespace
}  // namespace attnflow::capacity_rollout_test
