#include "attnflow/rollout/rollout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/gradient_for_test.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/rollout/matrix_product.h"
#include "attnflow/rollout/naive_rollout_for_test.h"

namespace attnflow::rollout_test {
namespace {

using test::naive_rollout;

TEST(Rollout, MatchesTheDefinitionForEverySpanOfLayersAndBothMasks) {
  for (const bool causal : {false, true}) {
    for (const HeadFusion fusion : {HeadFusion::kMean, HeadFusion::kMax, HeadFusion::kMin, HeadFusion::kSingle}) {
      const AttentionStack stack = random_stack({.layers = 4, .heads = 3, .tokens = 13, .causal = causal, .seed = 7});
      MixingOptions mixing{.heads = fusion, .head = 2, .residual = 0.4};
      const AttentionGraph graph = attention_graph(stack, mixing);
      for (std::size_t m = 0; m < 4; ++m) {
        const Tensor<double> values = rollout(graph, {.layers = {}, .start_layer = m, .threads = 2});
        ASSERT_EQ(values.extent(0), 4 - m);
        for (std::size_t l = m + 1; l <= 4; ++l) {
          const auto truth = naive_rollout(graph, l, m);
          for (std::size_t i = 0; i < 13; ++i) {
            const std::vector<double> row = rollout_row(graph, i, l, m);
            for (std::size_t j = 0; j < 13; ++j) {
              const auto expected = static_cast<double>(truth[i * 13 + j]);
              EXPECT_NEAR(values(l - m - 1, i, j), expected, 1e-14);
              EXPECT_NEAR(row[j], expected, 1e-14);
            }
          }
        }
      }
    }
  }
}

TEST(Rollout, OneLayerIsTheMixingMatrixToTheBit) {
  const AttentionGraph graph = attention_graph(random_stack({.layers = 3, .heads = 2, .tokens = 9, .seed = 1}), {});
  for (std::size_t l = 1; l <= 3; ++l) {
    const Tensor<double> values = rollout(graph, {.layers = {l}, .start_layer = l - 1, .threads = 1});
    const Tensor<double> expected = graph.top(l);
    EXPECT_TRUE(std::equal(expected.span().begin(), expected.span().end(), values.span().begin()));
  }
}

TEST(Rollout, RowsOfStochasticStacksSumToOne) {
  const AttentionGraph graph = attention_graph(random_stack({.layers = 12, .heads = 4, .tokens = 50, .seed = 3}), {});
  const Tensor<double> values = rollout(graph);
  for (std::size_t l = 0; l < 12; ++l) {
    for (std::size_t i = 0; i < 50; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < 50; ++j) sum += values(l, i, j);
      EXPECT_NEAR(sum, 1.0, 12 * 50 * std::numeric_limits<float>::epsilon());
    }
  }
}

TEST(Rollout, SameBitsForAnyThreadCountAndAsStreamed) {
  const AttentionStack stack = random_stack({.layers = 3, .heads = 2, .tokens = 131, .causal = true, .seed = 5});
  const AttentionGraph graph = attention_graph(stack, {});
  const Tensor<double> one = rollout(graph, {.layers = {}, .start_layer = 0, .threads = 1});
  const Tensor<double> three = rollout(graph, {.layers = {}, .start_layer = 0, .threads = 3});
  EXPECT_EQ(one, three);
  std::size_t calls = 0;
  RolloutSink sink(MixingOptions{}, [&](std::size_t layer, TensorView<const double> values) {
    ++calls;
    EXPECT_TRUE(std::equal(values.span().begin(), values.span().end(), one[layer - 1].data()));
  });
  stack.send_to(sink);
  EXPECT_EQ(calls, 3U);
  EXPECT_EQ(sink.result().extent(0), 131U);
  RolloutSink fused{MixingOptions{}};
  for (std::size_t l = 1; l <= 3; ++l) fused.fused_layer(l, graph.weights[l - 1]);
  EXPECT_EQ(fused.result(), sink.result());
}

TEST(Rollout, RefusesLayersOutOfRange) {
  const AttentionGraph graph = attention_graph(random_stack({.layers = 3, .heads = 1, .tokens = 4, .seed = 1}), {});
  EXPECT_THROW(rollout(graph, {.layers = {4}, .start_layer = 0, .threads = 1}), Error);
  EXPECT_THROW(rollout(graph, {.layers = {1}, .start_layer = 1, .threads = 1}), Error);
  EXPECT_THROW(rollout(graph, {.layers = {}, .start_layer = 3, .threads = 1}), Error);
  EXPECT_THROW(rollout_row(graph, 4, 2), Error);
  MixingOptions single{.heads = HeadFusion::kSingle};
  EXPECT_THROW(RolloutSink{single}, Error);
}

TEST(MatrixProduct, AddsInOrderWhateverTheShape) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (const std::size_t rows : {1, 2, 3, 4, 5, 17}) {
    for (const std::size_t inner : {1, 3, 8, 33}) {
      for (const std::size_t columns : {1, 2, 7, 16, 37}) {
        Tensor<double> a({rows, inner});
        Tensor<double> b({inner, columns});
        for (double& x : a.span()) x = uniform(random) < 0.3 ? 0.0 : uniform(random);
        for (double& x : b.span()) x = uniform(random);
        Tensor<double> c({rows, columns});
        multiply(a.view(), b.view(), c.view(), 2);
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t j = 0; j < columns; ++j) {
            double fused = 0.0;
            double plain = 0.0;
            for (std::size_t k = 0; k < inner; ++k) {
              fused = std::fma(a(i, k), b(k, j), fused);
              plain += a(i, k) * b(k, j);
            }
            EXPECT_TRUE(c(i, j) == fused || c(i, j) == plain) << rows << 'x' << inner << 'x' << columns;
          }
        }
      }
    }
  }
}

TEST(Rollout, OfGradientsIsThePublishedRecurrence) {
  for (const bool causal : {false, true}) {
    const AttentionStack stack = random_stack({.layers = 4, .heads = 3, .tokens = 11, .causal = causal, .seed = 20});
    const Tensor<float> gradient = random_gradient(stack, 5.0);
    for (const ResidualRule rule : {ResidualRule::kAdded, ResidualRule::kAddedNormalized}) {
      const AttentionGraph graph = gradient_graph_of(stack, gradient, {.residual_rule = rule});
      for (std::size_t m = 0; m < 4; ++m) {
        const Tensor<double> values = rollout(graph, {.layers = {}, .start_layer = m, .threads = 2});
        for (std::size_t l = m + 1; l <= 4; ++l) {
          const auto truth = naive_gradient_rollout(stack, gradient, l, m, rule);
          for (std::size_t i = 0; i < 11; ++i) {
            const std::vector<double> row = rollout_row(graph, i, l, m);
            for (std::size_t j = 0; j < 11; ++j) {
              const auto expected = static_cast<double>(truth[i * 11 + j]);
              EXPECT_NEAR(values(l - m - 1, i, j), expected, 1e-14 * (1.0 + expected));
              EXPECT_NEAR(row[j], expected, 1e-14 * (1.0 + expected));
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace attnflow::rollout_test
