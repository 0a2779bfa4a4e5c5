// Rollout and flow of gradient-adjusted attention, compared with the published recurrence and with properties that must
// hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attnflow/flow/flow.h"
#include "attnflow/flow/pair_flow.h"
#include "attnflow/graph/gradient_for_test.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow::gradient_mixing_laws_test {
namespace {

constexpr std::size_t kLayers = 4;
constexpr std::size_t kTokens = 11;

struct Case {
  AttentionStack stack;
  Tensor<float> gradient;
};

Case random_case(bool causal, double scale) {
  AttentionStack stack =
      random_stack({.layers = kLayers, .heads = 3, .tokens = kTokens, .causal = causal, .seed = causal ? 21U : 20U});
  Tensor<float> gradient = random_gradient(stack, scale);
  return {std::move(stack), std::move(gradient)};
}

TEST(GradientMixing, RolloutIsThePublishedRecurrence) {
  for (const bool causal : {false, true}) {
    for (const ResidualRule rule : {ResidualRule::kAdded, ResidualRule::kAddedNormalized}) {
      const Case one = random_case(causal, 5.0);
      const AttentionGraph graph = gradient_graph_of(one.stack, one.gradient, {.residual_rule = rule});
      for (std::size_t m = 0; m < kLayers; ++m) {
        const Tensor<double> values = rollout(graph, {.layers = {}, .start_layer = m, .threads = 2});
        for (std::size_t l = m + 1; l <= kLayers; ++l) {
          const auto truth = naive_gradient_rollout(one.stack, one.gradient, l, m, rule);
          for (std::size_t i = 0; i < kTokens; ++i) {
            const std::vector<double> row = rollout_row(graph, i, l, m);
            for (std::size_t j = 0; j < kTokens; ++j) {
              const auto expected = static_cast<double>(truth[i * kTokens + j]);
              EXPECT_NEAR(values(l - m - 1, i, j), expected, 1e-14 * (1.0 + expected));
              EXPECT_NEAR(row[j], expected, 1e-14 * (1.0 + expected));
            }
          }
        }
      }
    }
  }
}

TEST(GradientMixing, RowSumsOfRollout) {
  const Case one = random_case(false, 5.0);
  const auto smallest_and_largest = [&](ResidualRule rule) {
    const Tensor<double> values = rollout(gradient_graph_of(one.stack, one.gradient, {.residual_rule = rule}));
    double smallest = HUGE_VAL;
    double largest = 0.0;
    for (std::size_t i = 0; i < kTokens; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < kTokens; ++j) sum += values(kLayers - 1, i, j);
      smallest = std::min(smallest, sum);
      largest = std::max(largest, sum);
    }
    return std::pair(smallest, largest);
  };
  const auto published = smallest_and_largest(ResidualRule::kAdded);
  EXPECT_GT(published.first, 1.0);
  const auto normalized = smallest_and_largest(ResidualRule::kAddedNormalized);
  EXPECT_NEAR(normalized.first, 1.0, 1e-14);
  EXPECT_NEAR(normalized.second, 1.0, 1e-14);
}

TEST(GradientMixing, FlowOfRenormalisedRowsLiesBetweenRolloutAndOne) {
  for (const bool causal : {false, true}) {
    for (const double scale : {0.0, 1e-3, 1.0, 100.0}) {
      const Case one = random_case(causal, scale);
      const AttentionGraph graph =
          gradient_graph_of(one.stack, one.gradient, {.residual_rule = ResidualRule::kAddedNormalized});
      const Tensor<double> product = rollout(graph);
      const FlowResult flow = attention_flow(graph);
      const Tensor<double> first = graph.top(1);
      for (std::size_t l = 0; l < kLayers; ++l) {
        for (std::size_t i = 0; i < kTokens; ++i) {
          for (std::size_t j = 0; j < kTokens; ++j) {
            double column = 0.0;
            for (std::size_t k = 0; k < kTokens; ++k) column += first(k, j);
            const double high = flow.flow(l, i, j) + flow.flow_gap(l, i, j);
            EXPECT_LE(product(l, i, j), high + 1e-14);
            EXPECT_LE(flow.flow(l, i, j), 1.0 + 1e-14);
            EXPECT_LE(flow.flow(l, i, j), column + 1e-14);
            EXPECT_TRUE(l > 0 || flow.flow(l, i, j) == first(i, j));
            if (scale == 0.0) {
              EXPECT_NEAR(flow.flow(l, i, j), i == j ? 1.0 : 0.0, 1e-15);
            }
          }
        }
      }
    }
  }
}

TEST(GradientMixing, ACertificateProvesAFlowOfRenormalisedRows) {
  const Case one = random_case(false, 10.0);
  const AttentionGraph graph =
      gradient_graph_of(one.stack, one.gradient, {.residual_rule = ResidualRule::kAddedNormalized});
  const LayeredNetwork network = attention_network(graph, kLayers, 0);
  const PairFlow flow = flow_of_pair(network, 0, 5);
  const FlowCertificate checked = certify(network, 0, 5, flow);
  EXPECT_TRUE(checked.feasible && checked.conserves && checked.separates) << checked.problem;
  const FlowResult all = attention_flow(graph);
  EXPECT_NEAR(flow.flow, all.flow(kLayers - 1, 0, 5), 1e-12);
  EXPECT_GT(flow.flow, 0.0);
}

}  // namespace
}  // namespace attnflow::gradient_mixing_laws_test
