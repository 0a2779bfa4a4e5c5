#include "attnflow/graph/gradient_mixing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attnflow/base/error_for_test.h"
#include "attnflow/graph/gradient_for_test.h"
#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow::gradient_mixing_test {
namespace {

TEST(GradientWeights, AreClippedHeadByHeadBeforeTheMean) {
  // At [0, 0] the heads give +0.5 and -0.5: clipping after the mean would give 0.
  const Tensor<float> attention({2, 2, 2}, {0.5F, 0.5F, 0.25F, 0.75F, 0.25F, 0.75F, 1.0F, 0.0F});
  const Tensor<float> gradient({2, 2, 2}, {1.0F, -2.0F, 4.0F, 0.0F, -2.0F, 4.0F, -1.0F, 8.0F});
  EXPECT_EQ(gradient_weights(attention.view(), gradient.view()), Tensor<double>({2, 2}, {0.25, 1.5, 0.5, 0.0}));
}

TEST(GradientWeights, MatchTheDefinition) {
  for (const bool causal : {false, true}) {
    const AttentionStack stack = random_stack({.layers = 3, .heads = 5, .tokens = 17, .causal = causal, .seed = 4});
    const Tensor<float> gradient = random_gradient(stack, 3.0);
    const AttentionGraph graph = gradient_graph_of(stack, gradient);
    ASSERT_EQ(graph.weights.shape(), (Shape{3, 17, 17}));
    EXPECT_FALSE(graph.one_head());
    for (std::size_t l = 1; l <= 3; ++l) {
      for (std::size_t q = 0; q < 17; ++q) {
        for (std::size_t k = 0; k < 17; ++k) {
          const auto expected = static_cast<double>(naive_gradient_weight(stack, gradient, l, q, k));
          EXPECT_NEAR(graph.weights(l - 1, q, k), expected, 1e-15 * (1.0 + expected));
          EXPECT_TRUE(!causal || k <= q || graph.weights(l - 1, q, k) == 0.0);
        }
      }
    }
  }
}

TEST(GradientWeights, ColumnsMaskColumnsAndDiscardedAreZeroAndNothingIsScaledUp) {
  const Tensor<float> attention({1, 3, 3}, {0.5F, 0.25F, 0.25F, 0.5F, 0.5F, 0.0F, 0.25F, 0.5F, 0.25F});
  const Tensor<float> gradient({1, 3, 3}, {2.0F, 4.0F, 8.0F, 1.0F, 1.0F, 9.0F, -1.0F, 4.0F, 1.0F});
  // G: {1, 1, 2}, {0.5, 0.5, 0}, {0, 2, 0.25}.
  GradientMixingOptions options;
  options.removal.mask_columns = {1};
  EXPECT_EQ(gradient_weights(attention.view(), gradient.view(), options),
            Tensor<double>({3, 3}, {1, 0, 2, 0.5, 0, 0, 0, 0, 0.25}));
  options = {};
  options.removal.discard = 4.0 / 9.0;  // the two zeros, 0.25, and the later one of the two 0.5
  EXPECT_EQ(gradient_weights(attention.view(), gradient.view(), options),
            Tensor<double>({3, 3}, {1, 1, 2, 0.5, 0, 0, 0, 2, 0}));
  options.removal.discard_keeps = {2};  // the last column is exempt: 0, the two 0.5, and one 1 go
  EXPECT_EQ(gradient_weights(attention.view(), gradient.view(), options),
            Tensor<double>({3, 3}, {1, 0, 2, 0, 0, 0, 0, 2, 0.25}));
}

TEST(GradientGraph, RulesOfTheResidual) {
  const AttentionStack stack = random_stack({.layers = 2, .heads = 3, .tokens = 9, .seed = 5});
  const Tensor<float> gradient = random_gradient(stack, 20.0);
  const AttentionGraph added = gradient_graph_of(stack, gradient);
  const AttentionGraph normalized =
      gradient_graph_of(stack, gradient, {.residual_rule = ResidualRule::kAddedNormalized});
  EXPECT_EQ(added.weights, normalized.weights);
  for (std::size_t l = 1; l <= 2; ++l) {
    const Tensor<double> a = added.top(l);
    const Tensor<double> b = normalized.top(l);
    EXPECT_EQ(a, added.below(l));
    for (std::size_t q = 0; q < 9; ++q) {
      double sum = 0.0;
      double normalized_sum = 0.0;
      for (std::size_t k = 0; k < 9; ++k) {
        EXPECT_EQ(a(q, k), added.weights(l - 1, q, k) + (q == k ? 1.0 : 0.0));
        sum += a(q, k);
        normalized_sum += b(q, k);
      }
      EXPECT_GE(sum, 1.0);
      EXPECT_NEAR(normalized_sum, 1.0, 1e-15);
      for (std::size_t k = 0; k < 9; ++k) EXPECT_NEAR(b(q, k), a(q, k) / sum, 1e-15);
    }
  }
}

TEST(GradientGraph, NoGradientIsTheIdentity) {
  const AttentionStack stack = random_stack({.layers = 1, .heads = 2, .tokens = 3});
  const Tensor<float> zero(stack.weights().shape());
  for (const ResidualRule rule : {ResidualRule::kAdded, ResidualRule::kAddedNormalized}) {
    EXPECT_EQ(gradient_graph_of(stack, zero, {.residual_rule = rule}).top(1),
              Tensor<double>({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}));
  }
  Tensor<float> negative(stack.weights().shape());
  for (float& g : negative.span()) g = -1.0F;
  EXPECT_EQ(gradient_graph_of(stack, negative).top(1), Tensor<double>({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}));
}

TEST(GradientGraph, RefusesWhatIsNoGradientOfAttention) {
  const Tensor<float> good({2, 2, 2}, {1.0F, 0.0F, 0.5F, 0.5F, 1.0F, 0.0F, 0.5F, 0.5F});
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    // In the second head, where the weight is 0 and the first head's product is larger.
    Tensor<float> damaged = good;
    damaged(1, 0, 1) = bad;
    test::expect_error(ErrorKind::kBadFile, {"gradients"}, [&] { gradient_weights(good.view(), damaged.view()); });
    test::expect_error(ErrorKind::kBadFile, {"attention weights"},
                       [&] { gradient_weights(damaged.view(), good.view()); });
  }
  Tensor<float> negative = good;
  negative(0, 0, 0) = -0.5F;
  EXPECT_NO_THROW(gradient_weights(good.view(), negative.view()));

  const Tensor<float> fewer({1, 2, 2});
  EXPECT_THROW(gradient_weights(good.view(), fewer.view()), Error);
  EXPECT_THROW(gradient_weights(good[0], good[0]), Error);

  GradientMixingOptions options;
  options.removal.mask_columns = {2};
  EXPECT_THROW(gradient_weights(good.view(), good.view(), options), Error);
  options = {};
  options.removal.discard = std::nan("");
  EXPECT_THROW(gradient_weights(good.view(), good.view(), options), Error);
  EXPECT_THROW(GradientGraphSink(1, {.residual_rule = ResidualRule::kConvex}), Error);
}

TEST(GradientGraph, WantsEveryLayerOnce) {
  const Tensor<float> layer({1, 2, 2}, {1.0F, 0.0F, 0.5F, 0.5F});
  const Tensor<float> longer({1, 3, 3});
  GradientGraphSink sink(2);
  EXPECT_THROW(sink.layer({.layer = 0, .attention = layer.view(), .attention_gradient = layer.view()}), Error);
  sink.layer({.layer = 2, .attention = layer.view(), .attention_gradient = layer.view()});
  EXPECT_THROW(sink.layer({.layer = 1, .attention = longer.view(), .attention_gradient = longer.view()}), Error);
  sink.layer({.layer = 1, .attention = layer.view(), .attention_gradient = layer.view()});
  EXPECT_EQ(sink.take().layers(), 2U);
  EXPECT_THROW(GradientGraphSink(0).take(), Error);
}

TEST(SpreadEvenly, KeepsRowSumsAndIsUniformWhereTheyAreOne) {
  const AttentionStack stack = random_stack({.layers = 2, .heads = 2, .tokens = 4, .causal = true, .seed = 8});
  const AttentionGraph attention = attention_graph(stack, {.residual = 0.25});
  const AttentionGraph even = spread_evenly(attention, true);
  const AttentionGraph uniform = uniform_graph(2, 4, true, 0.25);
  const Tensor<double> top = even.top(2);
  const Tensor<double> expected = uniform.top(2);
  for (std::size_t e = 0; e < top.size(); ++e) EXPECT_NEAR(top.data()[e], expected.data()[e], 1e-7);

  const AttentionGraph gradient = gradient_graph_of(stack, random_gradient(stack));
  const AttentionGraph spread = spread_evenly(gradient, true);
  EXPECT_EQ(spread.residual_rule, ResidualRule::kAdded);
  for (std::size_t q = 0; q < 4; ++q) {
    double sum = 0.0;
    for (std::size_t k = 0; k < 4; ++k) sum += gradient.weights(1, q, k);
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_NEAR(spread.weights(1, q, k), k <= q ? sum / static_cast<double>(q + 1) : 0.0, 1e-15);
    }
  }
}

}  // namespace
}  // namespace attnflow::gradient_mixing_test
