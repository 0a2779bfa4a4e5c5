#include "attnflow/attribution/attribute.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "attnflow/attribution/degeneracy.h"
#include "attnflow/flow/pair_flow.h"
#include "attnflow/graph/gradient_for_test.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/graph/stack_replay_for_test.h"
#include "attnflow/rollout/naive_rollout_for_test.h"

namespace attnflow::attribute_test {
namespace {

constexpr std::size_t kLayers = 4;
constexpr std::size_t kTokens = 9;
const TokenGroups kWords = {{0}, {1, 2}, {3, 4, 5}, {6}, {7, 8}};

AttentionStack test_stack(bool causal) {
  return random_stack({.layers = kLayers, .heads = 3, .tokens = kTokens, .causal = causal, .seed = causal ? 5U : 4U});
}

Query query_of(Method method, TokenGroups outputs, TokenGroups inputs = {}) {
  Query query{.method = method, .layers = {1, 3, 4}, .outputs = std::move(outputs), .inputs = std::move(inputs)};
  return query;
}

// Reference: means of sums of a matrix V_l between positions, in long double.
double merged(const std::vector<long double>& values, const std::vector<std::size_t>& output,
              const std::vector<std::size_t>& input) {
  long double sum = 0.0L;
  for (const std::size_t i : output) {
    for (const std::size_t j : input) sum += values[i * kTokens + j];
  }
  return static_cast<double>(sum / static_cast<long double>(output.size()));
}

std::vector<long double> naive(Method method, const AttentionGraph& graph, std::size_t l, std::size_t m) {
  if (method == Method::kRollout) return test::naive_rollout(graph, l, m);
  const std::span<const double> weights = graph.weights[l - 1].span();
  return {weights.begin(), weights.end()};
}

TEST(Attribute, RawAndRolloutAreMeansOfSumsForEveryMaskFusionAndStart) {
  for (const bool causal : {false, true}) {
    for (const HeadFusion fusion : {HeadFusion::kMean, HeadFusion::kSingle}) {
      const AttentionGraph graph = attention_graph(test_stack(causal), {.heads = fusion, .head = 1, .residual = 0.4});
      GraphSource source(graph, causal);
      for (const Method method : {Method::kRaw, Method::kRollout}) {
        for (const TokenGroups& outputs : {kWords, TokenGroups{{2}}, TokenGroups{{7, 8}, {1}}}) {
          for (const TokenGroups& inputs : {TokenGroups{}, kWords}) {
            Query query = query_of(method, outputs, inputs);
            query.layers = {3, 4};
            query.start_layer = 1;
            const Attribution found = attribute(source, query);
            const TokenGroups columns = inputs.empty() ? single_tokens(kTokens) : inputs;
            ASSERT_EQ(found.values.shape(), (Shape{2, outputs.size(), columns.size()}));
            EXPECT_TRUE(found.gap.empty() && found.degenerate.empty() && found.baseline.empty());
            for (std::size_t l = 0; l < 2; ++l) {
              const auto truth = naive(method, graph, query.layers[l], 1);
              for (std::size_t o = 0; o < outputs.size(); ++o) {
                for (std::size_t j = 0; j < columns.size(); ++j) {
                  EXPECT_NEAR(found.values(l, o, j), merged(truth, outputs[o], columns[j]), 1e-14);
                }
              }
            }
          }
        }
      }
    }
  }
}

LayeredNetwork word_network(const AttentionGraph& graph, std::size_t l, const TokenGroups& words) {
  LayeredNetwork network = attention_network(graph, l, 0);
  network.layers[0] = sum_columns(network.layers[0].view(), words);
  return network;
}

TEST(Attribute, FlowIsTheMeanOfFlowsIntoOneSink) {
  for (const bool causal : {false, true}) {
    const AttentionGraph graph = attention_graph(test_stack(causal), {.residual = 0.3});
    GraphSource source(graph, causal);
    for (const TokenGroups& outputs : {kWords, TokenGroups{{3, 4, 5}}}) {
      const Attribution found = attribute(source, query_of(Method::kFlow, outputs, kWords));
      for (std::size_t l = 0; l < found.layers.size(); ++l) {
        const LayeredNetwork network = word_network(graph, found.layers[l], kWords);
        for (std::size_t o = 0; o < outputs.size(); ++o) {
          for (std::size_t w = 0; w < kWords.size(); ++w) {
            double low = 0.0;
            double high = 0.0;
            for (const std::size_t i : outputs[o]) {
              const PairFlow pair = flow_of_pair(network, i, w);
              low += pair.flow / static_cast<double>(outputs[o].size());
              high += (pair.flow + pair.flow_gap) / static_cast<double>(outputs[o].size());
            }
            // Two enclosures of one number overlap, up to the rounding of this sum.
            EXPECT_LE(found.values(l, o, w), high + 1e-15);
            EXPECT_GE(found.values(l, o, w) + found.gap(l, o, w), low - 1e-15);
            EXPECT_LE(found.gap(l, o, w), 1e-12);
          }
        }
      }
    }
  }
}

TEST(Attribute, OneOutputHasTheRowOfAll) {
  GraphSource source(attention_graph(test_stack(false), {}), false);
  for (const Method method : {Method::kRaw, Method::kRollout, Method::kFlow}) {
    const Attribution all = attribute(source, query_of(method, single_tokens(kTokens)));
    const Attribution one = attribute(source, query_of(method, {{4}}));
    ASSERT_EQ(one.values.shape(), (Shape{3, 1, kTokens}));
    for (std::size_t l = 0; l < 3; ++l) {
      for (std::size_t j = 0; j < kTokens; ++j) {
        EXPECT_NEAR(one.values(l, 0, j), all.values(l, 4, j), method == Method::kFlow ? 1e-12 : 1e-15);
      }
    }
  }
}

TEST(Attribute, AReplayGivesTheRowsOfTheGraph) {
  const AttentionStack stack = test_stack(true);
  for (const HeadFusion fusion : {HeadFusion::kMax, HeadFusion::kSingle}) {
    const MixingOptions mixing{.heads = fusion, .head = 2, .residual = 0.4, .mask_columns = {0}};
    GraphSource graph(attention_graph(stack, mixing), true);
    StackReplay replay(stack);
    ReplaySource rows(replay, mixing);
    for (const Method method : {Method::kRaw, Method::kRollout, Method::kFlow}) {
      for (const TokenGroups& outputs : {TokenGroups{{4}}, TokenGroups{{7, 8}}}) {
        for (const TokenGroups& inputs : {TokenGroups{}, kWords}) {
          Query query = query_of(method, outputs, inputs);
          query.baseline = true;
          Attribution expected = attribute(graph, query);
          Attribution found = attribute(rows, query);
          EXPECT_EQ(normalize(expected, Normalization::kReceptiveField),
                    normalize(found, Normalization::kReceptiveField));
          ASSERT_EQ(found.values.shape(), expected.values.shape());
          for (std::size_t e = 0; e < found.values.size(); ++e) {
            EXPECT_NEAR(found.values.data()[e], expected.values.data()[e], 1e-13);
          }
        }
      }
    }
  }
}

TEST(Attribute, UniformCausalAttentionIsThatOfTheGraphByEveryMethod) {
  GraphSource graph(uniform_graph(kLayers, kTokens, true, 0.3), true);
  const std::unique_ptr<AttentionSource> rows = uniform_source(/*causal*/ true, kLayers, 0.3);
  const TokenGroups outputs = {{4}, {8}, {0}};
  for (const Method method : {Method::kRaw, Method::kRollout, Method::kFlow}) {
    for (const TokenGroups& inputs : {TokenGroups{}, single_tokens(kTokens)}) {
      const Attribution expected = attribute(graph, query_of(method, outputs, inputs));
      const Attribution found = attribute(*rows, query_of(method, outputs, inputs));
      ASSERT_EQ(found.values.shape(), expected.values.shape());
      for (std::size_t e = 0; e < found.values.size(); ++e) {
        EXPECT_NEAR(found.values.data()[e], expected.values.data()[e], 1e-12);
      }
    }
  }
}

TEST(Attribute, NormalisedUniformAttentionIsUniformOverWhatAnOutputSees) {
  for (const bool causal : {false, true}) {
    GraphSource source(uniform_graph(kLayers, kTokens, causal, 0.5), causal);
    for (const Method method : {Method::kRaw, Method::kRollout, Method::kFlow}) {
      Query query = query_of(method, single_tokens(kTokens));
      query.baseline = true;
      Attribution found = attribute(source, query);
      EXPECT_EQ(normalize(found, Normalization::kReceptiveField), 0U);
      for (std::size_t i = 0; i < kTokens; ++i) {
        const std::size_t seen = causal ? i + 1 : kTokens;
        for (std::size_t j = 0; j < kTokens; ++j) {
          EXPECT_NEAR(found.values(2, i, j), j < seen ? 1.0 / static_cast<double>(seen) : 0.0, 1e-14);
        }
      }
    }
  }
}

TEST(Attribute, RowNormalisationScalesValuesAndGapsAlike) {
  GraphSource source(attention_graph(test_stack(true), {}), true);
  const Attribution plain = attribute(source, query_of(Method::kFlow, single_tokens(kTokens)));
  Attribution found = plain;
  EXPECT_EQ(normalize(found, Normalization::kRow), 0U);
  for (std::size_t l = 0; l < 3; ++l) {
    for (std::size_t i = 0; i < kTokens; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < kTokens; ++j) sum += plain.values(l, i, j);
      for (std::size_t j = 0; j < kTokens; ++j) {
        EXPECT_DOUBLE_EQ(found.values(l, i, j), plain.values(l, i, j) / sum);
        EXPECT_DOUBLE_EQ(found.gap(l, i, j), plain.gap(l, i, j) / sum);
      }
    }
  }
  EXPECT_EQ(found.degenerate, plain.degenerate);
}

TEST(Attribute, GradientsAsPublishedFlowThroughRowsDividedByTheirSums) {
  const AttentionStack stack = test_stack(false);
  const Tensor<float> gradient = random_gradient(stack, 3.0);
  GraphSource published(gradient_graph_of(stack, gradient, {.residual_rule = ResidualRule::kAdded}), false);
  GraphSource divided(gradient_graph_of(stack, gradient, {.residual_rule = ResidualRule::kAddedNormalized}), false);
  const Query flow = query_of(Method::kFlow, single_tokens(kTokens));
  EXPECT_EQ(attribute(published, flow).values, attribute(divided, flow).values);
  EXPECT_EQ(published.graph().residual_rule, ResidualRule::kAdded);
  EXPECT_EQ(published.network(4, 1).layers.back(), divided.network(4, 1).layers.back());
  const Query rollout = query_of(Method::kRollout, single_tokens(kTokens));
  EXPECT_NE(attribute(published, rollout).values, attribute(divided, rollout).values);
}

TEST(Attribute, ProgressOfABaselineIsTheSecondHalf) {
  GraphSource source(attention_graph(test_stack(false), {}), false);
  Query query = query_of(Method::kFlow, single_tokens(kTokens));
  query.baseline = true;
  std::size_t last = 0;
  std::size_t total = 0;
  attribute(source, query, {.threads = 1, .progress = [&](std::size_t done, std::size_t all) {
                              EXPECT_GE(done, last);
                              last = done;
                              total = all;
                            }});
  EXPECT_EQ(last, total);
  EXPECT_EQ(total, 200U);
}

TEST(Attribute, ProgressOfAWordGoesOnFromPieceToPiece) {
  const AttentionStack stack = test_stack(true);
  StackReplay replay(stack);
  ReplaySource rows(replay, {});
  GraphSource graph(attention_graph(stack, {}), true);
  for (AttentionSource* source : {static_cast<AttentionSource*>(&rows), static_cast<AttentionSource*>(&graph)}) {
    std::size_t last = 0, total = 0;
    attribute(*source, query_of(Method::kFlow, {{6, 7, 8}}),
              {.threads = 1, .progress = [&](std::size_t done, std::size_t all) {
                 EXPECT_GE(done, last);
                 EXPECT_TRUE(total == 0 || all == total);
                 last = done;
                 total = all;
               }});
    EXPECT_GT(total, 0U);
    EXPECT_EQ(last, total);
  }
}

TEST(Attribute, AWideToleranceLeavesTheBaselineAsItIs) {
  AttentionGraph graph =
      attention_graph(random_stack({.layers = 6, .heads = 1, .tokens = 12, .causal = true, .seed = 2}));
  Query query{.method = Method::kFlow, .layers = {6}, .outputs = {{11}}};
  query.baseline = true;
  GraphSource source(graph, true);
  const Attribution exact = attribute(source, query);
  query.flow_tolerance = 0.2;
  const Attribution wide = attribute(source, query);
  EXPECT_NE(wide.gap, exact.gap);
  EXPECT_EQ(wide.baseline, exact.baseline);
}

TEST(Attribute, IntervalsAreAsWideAsTheToleranceInUnitsOfTheTarget) {
  AttentionGraph graph =
      attention_graph(random_stack({.layers = 6, .heads = 1, .tokens = 12, .causal = true, .seed = 2}));
  graph.unit = 16.0;
  GraphSource source(graph, true);
  const Query query{.method = Method::kFlow, .layers = {6}, .outputs = {{11}}, .flow_tolerance = 0.2};
  const Attribution found = attribute(source, query);
  for (const double gap : found.gap.span()) EXPECT_LE(gap, 0.2);
}

TEST(Attribute, SaysWhatIsMissing) {
  GraphSource source(attention_graph(test_stack(false), {}), false);
  EXPECT_THROW(attribute(source, query_of(Method::kRaw, {})), Error);
  Query none = query_of(Method::kRollout, {{0}});
  none.layers = {};
  EXPECT_THROW(attribute(source, none), Error);
  for (const Method method : {Method::kRaw, Method::kRollout, Method::kFlow}) {
    EXPECT_THROW(attribute(source, query_of(method, {{kTokens}})), Error);
    Query above = query_of(method, {{0}});
    above.layers = {kLayers + 1};
    EXPECT_THROW(attribute(source, above), Error);
  }
}

TEST(Degeneracy, CountsWhatHasAPath) {
  GraphSource source(attention_graph(test_stack(true), {}), true);
  const Attribution flow = attribute(source, query_of(Method::kFlow, single_tokens(kTokens)));
  for (std::size_t l = 0; l < 3; ++l) {
    DegeneracyCounts sum;
    for (std::size_t i = 0; i < kTokens; ++i) {
      const DegeneracyCounts one = count_degenerate(flow, l, i);
      EXPECT_EQ(one.values, i + 1);  // no path to later tokens
      sum.values += one.values;
      sum.first_layer_column += one.first_layer_column;
      sum.top_row += one.top_row;
    }
    const DegeneracyCounts all = count_degenerate(flow, l);
    EXPECT_EQ(all.layer, flow.layers[l]);
    EXPECT_EQ(all.values, kTokens * (kTokens + 1) / 2);
    EXPECT_EQ(all.first_layer_column, sum.first_layer_column);
    EXPECT_EQ(all.top_row, sum.top_row);
    EXPECT_EQ(all.degenerate() == 0, l == 0);  // the first layer above the bottom is never degenerate
  }
}

}  // namespace
}  // namespace attnflow::attribute_test
