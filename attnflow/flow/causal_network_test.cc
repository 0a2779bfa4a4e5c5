#include "attnflow/flow/causal_network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow::causal_network_test {
namespace {

constexpr std::size_t kLayers = 6;
constexpr std::size_t kTokens = 20;

CausalNetwork network_of(const AttentionGraph& graph) {
  CausalNetwork network(graph.layers(), graph.tokens());
  for (std::size_t l = 1; l <= graph.layers(); ++l) {
    const Tensor<double> block = graph.below(l);
    for (std::size_t p = 0; p < graph.tokens(); ++p) network.set_row(l, p, block[p].span().first(p + 1));
  }
  return network;
}

std::vector<double> top_of(const AttentionGraph& graph, std::size_t layer, std::size_t token) {
  const Tensor<double> block = graph.top(layer);
  const double* row = block.data() + token * graph.tokens();
  return {row, row + token + 1};
}

TEST(CausalNetwork, FlowIsThatOfTheGraph) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const AttentionGraph graph = attention_graph(random_stack(
        {.layers = kLayers, .heads = 2, .tokens = kTokens, .causal = true, .sharpness = 2.0, .seed = seed}));
    CausalNetwork network = network_of(graph);
    const TokenGroups groups = {{0}, {1, 2, 3}, {4, 5}, {6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {16, 17, 18}, {19}};
    for (const std::size_t start : {0U, 2U}) {
      for (const std::size_t token : {0U, 7U, 19U}) {
        for (const TokenGroups* inputs : {static_cast<const TokenGroups*>(nullptr), &groups}) {
          FlowOptions options{.start_layer = start, .output_token = token, .input_groups = inputs};
          const FlowResult expected = attention_flow(graph, options);
          for (std::size_t l = start + 1; l <= kLayers; ++l) {
            network.set_top(l, top_of(graph, l, token));
          }
          const FlowResult found = attention_flow(network, options);
          ASSERT_EQ(found.flow.shape(), expected.flow.shape());
          for (std::size_t e = 0; e < found.flow.size(); ++e) {
            // Units may have a different size.
            EXPECT_NEAR(found.flow.data()[e], expected.flow.data()[e], expected.flow_gap.data()[e] + 1e-16);
          }
          EXPECT_EQ(found.degenerate, expected.degenerate);
        }
      }
    }
  }
}

TEST(CausalNetwork, TopsMayDiffer) {
  const AttentionGraph graph =
      attention_graph(random_stack({.layers = kLayers, .heads = 2, .tokens = kTokens, .causal = true, .seed = 4}),
                      {.heads = HeadFusion::kSingle, .head = 1});
  CausalNetwork network = network_of(graph);
  network.set_top(4, top_of(graph, 4, 12));
  const FlowOptions options{.layers = {4}, .output_token = 12};
  const FlowResult expected = attention_flow(graph, options);
  const FlowResult found = attention_flow(network, options);
  for (std::size_t j = 0; j < kTokens; ++j) EXPECT_NEAR(found.flow(0, 0, j), expected.flow(0, 0, j), 1e-15);
}

TEST(CausalNetwork, RowsThatAreNotGivenHaveNoArcs) {
  CausalNetwork network(3, 2);
  network.set_row(3, 1, std::vector<double>{0.5, 0.5});
  const FlowResult flow = attention_flow(network, {.layers = {1, 3}, .output_token = 1});
  for (const double value : flow.flow.span()) EXPECT_EQ(value, 0.0);
}

TEST(CausalNetwork, RefusesWhatIsNoRow) {
  CausalNetwork network(2, 3);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(network.set_row(0, 0, std::vector<double>{1.0}), Error);
  EXPECT_THROW(network.set_row(3, 0, std::vector<double>{1.0}), Error);
  EXPECT_THROW(network.set_row(1, 3, std::vector<double>(4, 0.1)), Error);
  EXPECT_THROW(network.set_row(1, 1, std::vector<double>{1.0}), Error);
  EXPECT_THROW(network.set_row(1, 1, std::vector<double>{nan, 1.0}), Error);
  EXPECT_THROW(network.set_top(1, std::vector<double>(4, 0.1)), Error);
  EXPECT_THROW(network.set_top(1, {HUGE_VAL}), Error);
  EXPECT_THROW(attention_flow(network, {.output_token = 3}), Error);
  EXPECT_THROW(CausalNetwork(0, 3), Error);
}

TEST(CausalNetwork, GetsAlongWithTheMemoryThatThereIs) {
  const AttentionGraph graph = attention_graph(
      random_stack({.layers = 12, .heads = 1, .tokens = 200, .causal = true, .sharpness = 3.0, .seed = 5}));
  const CausalNetwork network = network_of(graph);
  FlowOptions options{.layers = {12}, .output_token = 199};
  const FlowResult exact = attention_flow(network, options);
  double before = 0.0;
  for (const std::size_t mebibytes : {64U, 5U, 4U}) {
    options.memory_limit = mebibytes << 20U;
    const FlowResult found = attention_flow(network, options);
    double widest = 0.0;
    for (std::size_t j = 0; j < 200; ++j) {
      EXPECT_LE(found.flow(0, 0, j), exact.flow(0, 0, j) + exact.flow_gap(0, 0, j));
      EXPECT_GE(found.flow(0, 0, j) + found.flow_gap(0, 0, j), exact.flow(0, 0, j));
      widest = std::max(widest, found.flow_gap(0, 0, j));
    }
    EXPECT_GE(widest, before);
    before = widest;
  }
  EXPECT_GT(before, 1e-3);
  options.memory_limit = std::size_t{1} << 20U;
  EXPECT_THROW(attention_flow(network, options), Error);
}

}  // namespace
}  // namespace attnflow::causal_network_test
