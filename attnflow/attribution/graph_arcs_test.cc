#include "attnflow/attribution/graph_arcs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow::graph_arcs_test {
namespace {

constexpr std::size_t kLayers = 4;
constexpr std::size_t kTokens = 9;
constexpr std::size_t kAll = 1'000'000;

AttentionGraph test_graph(ResidualRule rule = ResidualRule::kConvex) {
  AttentionGraph graph = attention_graph(
      random_stack({.layers = kLayers, .heads = 3, .tokens = kTokens, .causal = false, .seed = 5U}), {.residual = 0.3});
  graph.residual_rule = rule;
  return graph;
}

Settings settings_of(const AttentionGraph& graph) {
  Settings settings;
  settings.residual = graph.residual;
  if (graph.residual_rule != ResidualRule::kConvex) settings.mixing = Mixing::kGradient;
  return settings;
}

TEST(GraphArcs, TheHeadersExample) {
  const Tensor<double> weights({1, 2, 2}, {0.25, 0.75, 1.0, 0.0});
  const GraphArcs arcs =
      graph_arcs({.layers = weights.view()}, Settings{}, {.method = Method::kRaw, .layer = 1, .output_token = 0});
  ASSERT_EQ(arcs.shown.size(), 1u);
  EXPECT_EQ(arcs.strongest, 0.375);
  EXPECT_EQ(arcs.shown[0].to, 1u);
  EXPECT_EQ(arcs.shown[0].weight, 0.375);
  EXPECT_EQ(arcs.left_out, 0u);
  const GraphArcs all = graph_arcs({.layers = weights.view()}, Settings{},
                                   {.method = Method::kRaw, .layer = 1, .output_token = 0, .arcs_per_node = {}});
  ASSERT_EQ(all.shown.size(), 2u);
  EXPECT_EQ(all.strongest, 0.625);  // 0.5 * 0.25 + 0.5 of the residual
  EXPECT_EQ(all.shown[0].to, 0u);
  EXPECT_EQ(all.shown[1].to, 1u);
}

TEST(GraphArcs, OfEachNodeAFewAreShown) {
  const AttentionGraph graph = test_graph();
  const DrawnWeights weights{.layers = graph.weights.view()};
  ArcQuestion question{.method = Method::kFlow, .layer = kLayers};
  for (const std::size_t few : {std::size_t{1}, std::size_t{3}}) {
    question.arcs_per_node = few;
    std::map<std::pair<std::size_t, std::size_t>, std::vector<GraphArc>> shown;
    for (const GraphArc& arc : graph_arcs(weights, settings_of(graph), question, kAll).shown) {
      shown[{arc.layer, arc.from}].push_back(arc);
    }
    EXPECT_EQ(shown.size(), kLayers * kTokens);
    for (const auto& [node, arcs] : shown) {
      EXPECT_EQ(arcs.size(), few);
      const auto row = graph.top(node.first);
      for (std::size_t q = 0; q < kTokens; ++q) {
        const bool is_shown = std::any_of(arcs.begin(), arcs.end(), [&](const GraphArc& arc) { return arc.to == q; });
        if (q == node.second) {
          EXPECT_FALSE(is_shown);
        } else if (!is_shown) {
          EXPECT_LE(row(node.second, q), arcs.back().weight);
        }
      }
    }
  }
  const Tensor<double> even({1, 4, 4}, std::vector<double>(16, 0.25));
  const GraphArcs arcs = graph_arcs({.layers = even.view()}, Settings{},
                                    {.method = Method::kRaw, .layer = 1, .output_token = 1, .arcs_per_node = 2});
  ASSERT_EQ(arcs.shown.size(), 2u);
  EXPECT_EQ(arcs.shown[0].to, 0u);
  EXPECT_EQ(arcs.shown[1].to, 2u);
}

// All mass that reaches a layer leaves it, and the mass that arrives at the input is the rollout.
TEST(GraphArcs, SharesAddUpToRollout) {
  for (const ResidualRule rule : {ResidualRule::kConvex, ResidualRule::kAddedNormalized}) {
    const AttentionGraph graph = test_graph(rule);
    const Tensor<double> all = rollout(graph);
    for (const std::optional<std::size_t> output : {std::optional<std::size_t>(6), std::optional<std::size_t>()}) {
      const GraphArcs arcs = graph_arcs({.layers = graph.weights.view()}, settings_of(graph),
                                        {.layer = kLayers, .output_token = output, .arcs_per_node = {}}, kAll);
      std::vector<double> passed(kLayers + 1, 0.0);
      std::vector<double> arrived(kTokens, 0.0);
      for (const GraphArc& arc : arcs.shown) {
        passed[arc.layer] += arc.weight;
        if (arc.layer == 1) arrived[arc.to] += arc.weight;
      }
      // Arcs below 0.5% of the strongest are missing.
      for (std::size_t l = 1; l <= kLayers; ++l) EXPECT_NEAR(passed[l], 1.0, 0.05) << l;
      for (std::size_t j = 0; j < kTokens; ++j) {
        double expected = 0.0;
        for (std::size_t i = 0; i < kTokens; ++i) {
          if (output.value_or(i) == i) expected += all(kLayers - 1, i, j) / (output ? 1.0 : kTokens);
        }
        EXPECT_NEAR(arrived[j], expected, 0.01) << j;
      }
    }
  }
}

TEST(GraphArcs, WeightsAreTheMixingMatricesOnReachedPaths) {
  for (const ResidualRule rule : {ResidualRule::kConvex, ResidualRule::kAddedNormalized}) {
    const AttentionGraph graph = test_graph(rule);
    Settings settings = settings_of(graph);
    settings.start_layer = 1;
    const GraphArcs arcs =
        graph_arcs({.layers = graph.weights.view()}, settings,
                   {.method = Method::kFlow, .layer = 3, .output_token = 2, .arcs_per_node = {}}, kAll);
    EXPECT_GT(arcs.shown.size(), kTokens);
    for (const GraphArc& arc : arcs.shown) {
      EXPECT_NEAR(arc.weight, graph.top(arc.layer)(arc.from, arc.to), 1e-15);
      EXPECT_GT(arc.layer, 1u);
      EXPECT_LE(arc.layer, 3u);
      EXPECT_TRUE(arc.layer != 3 || arc.from == 2);
    }
  }
}

TEST(GraphArcs, NoneIsWeakAndTheStrongestAreKept) {
  const AttentionGraph graph = test_graph();
  const DrawnWeights weights{.layers = graph.weights.view()};
  const ArcQuestion question{.layer = kLayers, .output_token = 0, .arcs_per_node = {}};
  const GraphArcs all = graph_arcs(weights, settings_of(graph), question, kAll);
  EXPECT_EQ(all.left_out, 0u);
  EXPECT_EQ(all.shown.front().weight, all.strongest);
  EXPECT_GE(all.shown.back().weight, kWeakestArc * all.strongest);
  const GraphArcs few = graph_arcs(weights, settings_of(graph), question, 7);
  EXPECT_EQ(few.left_out, all.shown.size() - 7);
  ASSERT_EQ(few.shown.size(), 7u);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(few.shown[i].weight, all.shown[i].weight);
    EXPECT_EQ(few.shown[i].layer, all.shown[i].layer);
  }
}

TEST(GraphArcs, OfEqualArcsTheLowerLayerAndTheSmallerPositionComeFirst) {
  const Tensor<double> even({2, 4, 4}, std::vector<double>(32, 0.25));
  Settings settings;
  settings.residual = 0.0;
  const GraphArcs arcs =
      graph_arcs({.layers = even.view()}, settings, {.method = Method::kRaw, .layer = 2, .arcs_per_node = {}}, 18);
  ASSERT_EQ(arcs.shown.size(), 18u);
  EXPECT_EQ(arcs.left_out, 14u);
  for (std::size_t i = 0; i < 18; ++i) {
    EXPECT_EQ(arcs.shown[i].layer, i < 16 ? 1u : 2u);
    EXPECT_EQ(arcs.shown[i].from, i % 16 / 4);
    EXPECT_EQ(arcs.shown[i].to, i % 4);
  }
}

TEST(GraphArcs, ASingleHeadHoldsInTheLayerLookedAt) {
  const Tensor<double> weights({2, 2, 2}, std::vector<double>(8, 0.5));
  const Tensor<double> raw({1, 2}, {1.0, 0.0});
  const std::vector<std::size_t> positions = {1};
  const DrawnWeights drawn{.layers = weights.view(), .raw = raw.view(), .raw_positions = positions};
  Settings settings;
  settings.residual = 0.0;
  settings.heads = {.fusion = HeadFusion::kSingle, .head = 1};
  const ArcQuestion question{.method = Method::kRaw, .layer = 2, .output_token = 1, .arcs_per_node = {}};
  const auto top_arcs = [&] {
    std::size_t count = 0;
    for (const GraphArc& arc : graph_arcs(drawn, settings, question).shown) count += arc.layer == 2 ? 1 : 0;
    return count;
  };
  EXPECT_EQ(top_arcs(), 1u);
  settings.normalization = Normalization::kRow;  // raw values are no longer the head's weights
  EXPECT_EQ(top_arcs(), 2u);
  settings = Settings{};
  EXPECT_EQ(top_arcs(), 2u);
}

TEST(GraphArcs, WhatIsNotFiniteCountsAsNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor<double> weights({1, 2, 2}, {nan, 1.0, 0.0, 1.0});
  const GraphArcs arcs =
      graph_arcs({.layers = weights.view()}, Settings{}, {.layer = 1, .output_token = 0, .arcs_per_node = {}});
  ASSERT_EQ(arcs.shown.size(), 2u);
  EXPECT_EQ(arcs.strongest, 0.5);
}

TEST(GraphArcs, RefusesWhatIsNotThere) {
  const AttentionGraph graph = test_graph();
  const DrawnWeights weights{.layers = graph.weights.view()};
  Settings settings;
  settings.start_layer = 2;
  for (const ArcQuestion& question :
       {ArcQuestion{.layer = 2}, ArcQuestion{.layer = 5}, ArcQuestion{.layer = 3, .output_token = 9}}) {
    EXPECT_THROW(graph_arcs(weights, settings, question), Error);
  }
}

}  // namespace
}  // namespace attnflow::graph_arcs_test
