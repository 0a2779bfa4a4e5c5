#include "attnflow/explain/pooled_output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "attnflow/attribution/source.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/rollout/capacity_rollout.h"

namespace attnflow::pooled_output_test {
namespace {

constexpr std::size_t kTokens = 5;
constexpr std::size_t kLayers = 3;
const TokenGroups kEach = single_tokens(kTokens);

AttentionGraph attention() {
  return attention_graph(random_stack({.layers = kLayers, .heads = 2, .tokens = kTokens, .causal = false, .seed = 7}));
}

// Amounts that differ from token to token.
AttentionGraph relevance() {
  AttentionGraph graph = attention();
  graph.residual_rule = ResidualRule::kContainedNormalized;
  for (std::size_t l = 0; l < kLayers; ++l) {
    for (std::size_t i = 0; i < kTokens; ++i) {
      for (std::size_t j = 0; j < kTokens; ++j) graph.weights(l, i, j) *= 0.02 * static_cast<double>(i + 1);
    }
  }
  return graph;
}

Attribution answer(const AttentionGraph& graph, Method method, const TokenGroups& outputs = kEach) {
  GraphSource source(graph, false);
  const TokenGroups inputs = outputs.size() == kTokens ? TokenGroups() : outputs;
  return attribute(source, {.method = method, .layers = {1, kLayers}, .outputs = outputs, .inputs = inputs});
}

Attribution pooled(const AttentionGraph& graph, Method method, const TokenGroups& outputs = kEach, bool alone = false) {
  Attribution found = answer(graph, method, outputs);
  add_pooled_output(found, graph, outputs, alone);
  return found;
}

TEST(PooledOutput, IsTheMeanOfAllRowsAndNoInput) {
  const AttentionGraph graph = attention();
  for (const Method method : {Method::kRaw, Method::kRollout, Method::kFlow}) {
    const Attribution before = answer(graph, method);
    const Attribution found = pooled(graph, method);
    ASSERT_EQ(found.values.shape(), (Shape{2, kTokens + 1, kTokens + 1}));
    for (std::size_t l = 0; l < 2; ++l) {
      for (std::size_t j = 0; j < kTokens; ++j) {
        double mean = 0.0;
        for (std::size_t i = 0; i < kTokens; ++i) {
          mean += before.values(l, i, j) / static_cast<double>(kTokens);
          EXPECT_EQ(found.values(l, i, j), before.values(l, i, j));
        }
        EXPECT_NEAR(found.values(l, kTokens, j), mean, 1e-15);
      }
      for (std::size_t i = 0; i <= kTokens; ++i) EXPECT_EQ(found.values(l, i, kTokens), 0.0);
    }
  }
}

// Rollout of relevance hands each token's amount down; at the top, the amounts of all tokens together.
TEST(PooledOutput, SharesOfRelevanceCountByTheirAmount) {
  const AttentionGraph graph = relevance();
  const Attribution before = answer(graph, Method::kRollout);
  const Attribution found = pooled(graph, Method::kRollout);
  const CapacityRollout capacities(graph.weights.view(), kLayers, 0);
  double all = 0.0;
  for (std::size_t i = 0; i < kTokens; ++i) all += capacities.carried(kLayers, i);
  for (std::size_t j = 0; j < kTokens; ++j) {
    double expected = 0.0;
    for (std::size_t i = 0; i < kTokens; ++i) {
      expected += capacities.carried(kLayers, i) / all * before.values(1, i, j);
    }
    EXPECT_NEAR(found.values(1, kTokens, j), expected, 1e-15);
  }
  const auto row = found.values[1][kTokens].span();
  EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1.0, 1e-12);
}

TEST(PooledOutput, AmountsOfRelevanceAreAddedUp) {
  const AttentionGraph graph = relevance();
  for (const Method method : {Method::kRaw, Method::kFlow}) {
    const Attribution before = answer(graph, method);
    const Attribution found = pooled(graph, method);
    for (std::size_t j = 0; j < kTokens; ++j) {
      double sum = 0.0;
      for (std::size_t i = 0; i < kTokens; ++i) sum += before.values(1, i, j);
      EXPECT_NEAR(found.values(1, kTokens, j), sum, 1e-15);
    }
  }
}

TEST(PooledOutput, AWordStandsForAllItsTokens) {
  const TokenGroups words = {{0}, {1, 2, 3}, {4}};
  for (const AttentionGraph& graph : {attention(), relevance()}) {
    for (const Method method : {Method::kRaw, Method::kRollout}) {
      const Attribution of_tokens = pooled(graph, method);
      const Attribution of_words = pooled(graph, method, words);
      // Shares of relevance within a word are averaged before they are weighted.
      if (method == Method::kRollout && graph.residual_rule == ResidualRule::kContainedNormalized) continue;
      for (std::size_t w = 0; w < words.size(); ++w) {
        double sum = 0.0;
        for (const std::size_t j : words[w]) sum += of_tokens.values(1, kTokens, j);
        EXPECT_NEAR(of_words.values(1, words.size(), w), sum, 1e-14);
      }
    }
  }
}

TEST(PooledOutput, AloneIsTheSameRow) {
  const AttentionGraph graph = attention();
  const Attribution all = pooled(graph, Method::kFlow);
  const Attribution one = pooled(graph, Method::kFlow, kEach, true);
  ASSERT_EQ(one.values.shape(), (Shape{2, 1, kTokens + 1}));
  for (std::size_t j = 0; j <= kTokens; ++j) {
    EXPECT_EQ(one.values(1, 0, j), all.values(1, kTokens, j));
    EXPECT_EQ(one.gap(1, 0, j), all.gap(1, kTokens, j));
    EXPECT_EQ(one.degenerate(1, 0, j), all.degenerate(1, kTokens, j));
  }
}

TEST(PooledOutput, IsDegenerateWhereAllRowsAre) {
  const AttentionGraph graph = attention();
  Attribution found = answer(graph, Method::kFlow);
  std::fill(found.degenerate.span().begin(), found.degenerate.span().end(), std::uint8_t{0});
  for (std::size_t i = 0; i < kTokens; ++i) found.degenerate(1, i, 2) = found.degenerate(1, i, 3) = 1;
  found.degenerate(1, 4, 3) = 0;
  add_pooled_output(found, graph, kEach, false);
  EXPECT_EQ(found.degenerate(1, kTokens, 2), 1);
  EXPECT_EQ(found.degenerate(1, kTokens, 3), 0);
}

TEST(PooledOutput, OfRelevanceThatCarriesNothing) {
  AttentionGraph graph = relevance();
  std::fill(graph.weights.span().begin(), graph.weights.span().end(), 0.0);
  const std::vector<double> weights = pooled_weights(graph, Method::kRollout, kLayers, kEach);
  for (const double weight : weights) EXPECT_EQ(weight, 1.0 / static_cast<double>(kTokens));
}

}  // namespace
}  // namespace attnflow::pooled_output_test
