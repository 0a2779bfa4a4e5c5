#include "attnflow/graph/relevance_mixing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "attnflow/base/error_for_test.h"
#include "attnflow/graph/gradient_for_test.h"
#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow {
namespace {

constexpr std::size_t kLayers = 3;
constexpr std::size_t kTokens = 5;
constexpr std::size_t kHidden = 4;

Tensor<float> random_stream(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> value(0.0, 1.0);
  Tensor<float> stream({kLayers, kTokens, kHidden});
  for (float& x : stream.span()) x = static_cast<float>(value(random));
  return stream;
}

struct Layers {
  AttentionStack stack = random_stack({.layers = kLayers, .heads = 2, .tokens = kTokens, .causal = true});
  Tensor<float> gradient = random_gradient(stack);
  Tensor<float> residual = random_stream(3);
  Tensor<float> output_gradient = random_stream(4);

  LayerGradients operator[](std::size_t l) const {
    return {.layer = l,
            .attention = stack.layer(l),
            .attention_gradient = gradient[l - 1],
            .residual = residual[l - 1],
            .output_gradient = output_gradient[l - 1]};
  }
  void send_to(AttentionGradientSink& sink) const {
    for (std::size_t l = kLayers; l >= 1; --l) sink.layer((*this)[l]);
  }
  // The summands of E: one per head, and what stays.
  std::vector<long double> parts(std::size_t l, std::size_t i, std::size_t j) const {
    std::vector<long double> parts;
    for (std::size_t h = 0; h < 2; ++h) {
      parts.push_back(static_cast<long double>(stack.weights()(l - 1, h, i, j)) * gradient(l - 1, h, i, j));
    }
    long double stays = 0.0L;
    for (std::size_t c = 0; i == j && c < kHidden; ++c) {
      stays += static_cast<long double>(residual(l - 1, i, c)) * output_gradient(l - 1, i, c);
    }
    parts.push_back(stays);
    return parts;
  }
  long double relevance(std::size_t l, std::size_t i, std::size_t j) const {
    const std::vector<long double> all = parts(l, i, j);
    return std::accumulate(all.begin(), all.end(), 0.0L);
  }
};

TEST(Relevance, PositivePartInUnitsOfTheTarget) {
  const Layers layers;
  RelevanceGraphSink sink(kLayers);
  layers.send_to(sink);
  long double negative = 0.0L;
  long double all = 0.0L;
  const double share = sink.negative_share().value();
  const AttentionGraph graph = sink.take();
  EXPECT_EQ(std::exp2(std::ilogb(graph.unit)), graph.unit);
  double largest = 0.0;
  for (std::size_t l = 1; l <= kLayers; ++l) {
    for (std::size_t i = 0; i < kTokens; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < kTokens; ++j) {
        const long double expected = layers.relevance(l, i, j);
        EXPECT_NEAR(graph.weights(l - 1, i, j) * graph.unit, static_cast<double>(std::max(0.0L, expected)), 1e-12);
        if (j > i) {
          EXPECT_EQ(graph.weights(l - 1, i, j), 0.0);
        }
        if (expected < 0.0L) negative -= expected;
        all += std::abs(expected);
        sum += graph.weights(l - 1, i, j);
      }
      largest = std::max(largest, sum);
    }
  }
  EXPECT_LE(largest, 1.0);
  EXPECT_GE(largest, 0.5);
  EXPECT_NEAR(share, static_cast<double>(negative / all), 1e-12);
}

TEST(Relevance, ByHeadEachPartIsCutByItself) {
  const Layers layers;
  RelevanceGraphSink sink(kLayers, {}, RelevanceParts::kByHead);
  layers.send_to(sink);
  const double share = sink.negative_share().value();
  const AttentionGraph graph = sink.take();
  long double negative = 0.0L;
  long double all = 0.0L;
  for (std::size_t l = 1; l <= kLayers; ++l) {
    const PositiveRelevance together = positive_relevance(layers[l], RelevanceParts::kTogether);
    for (std::size_t i = 0; i < kTokens; ++i) {
      for (std::size_t j = 0; j < kTokens; ++j) {
        long double expected = 0.0L;
        for (const long double part : layers.parts(l, i, j)) {
          expected += std::max(0.0L, part);
          if (part < 0.0L) negative -= part;
          all += std::abs(part);
        }
        const double found = graph.weights(l - 1, i, j) * graph.unit;
        EXPECT_NEAR(found, static_cast<double>(expected), 1e-12);
        EXPECT_GE(found, together.weights(i, j) - 1e-12);  // without cancellation
      }
    }
  }
  EXPECT_NEAR(share, static_cast<double>(negative / all), 1e-12);
  EXPECT_EQ(graph.residual_rule, ResidualRule::kContainedNormalized);
}

TEST(Relevance, ProportionsForRolloutAndCapacitiesForFlow) {
  const Layers layers;
  RelevanceGraphSink sink(kLayers);
  layers.send_to(sink);
  AttentionGraph graph = sink.take();
  for (std::size_t l = 1; l <= kLayers; ++l) {
    const Tensor<double> proportions = graph.top(l);
    for (std::size_t i = 0; i < kTokens; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < kTokens; ++j) sum += proportions(i, j);
      EXPECT_NEAR(sum, 1.0, 1e-12);
    }
  }
  graph.residual_rule = flow_rule(graph.residual_rule);
  const Tensor<double> capacities = graph.top(1);
  for (std::size_t e = 0; e < capacities.size(); ++e) EXPECT_EQ(capacities.data()[e], graph.weights.data()[e]);
}

TEST(Relevance, HeadsInAnyOrder) {
  const Layers layers;
  Layers swapped;
  Tensor<float> weights(layers.stack.weights().shape());
  for (std::size_t l = 0; l < kLayers; ++l) {
    for (std::size_t h = 0; h < 2; ++h) {
      const std::size_t size = kTokens * kTokens;
      std::copy_n(layers.stack.weights()[l][1 - h].data(), size, weights[l][h].data());
      std::copy_n(layers.gradient[l][1 - h].data(), size, swapped.gradient[l][h].data());
    }
  }
  swapped.stack = AttentionStack(std::move(weights));
  for (std::size_t l = 1; l <= kLayers; ++l) {
    const Tensor<double> one = signed_relevance(layers[l]);
    const Tensor<double> other = signed_relevance(swapped[l]);
    for (std::size_t e = 0; e < one.size(); ++e) EXPECT_NEAR(one.data()[e], other.data()[e], 1e-12);
  }
}

TEST(Relevance, NothingSpeaksForTheTarget) {
  Layers layers;
  for (float& g : layers.gradient.span()) g = -std::abs(g);
  for (float& g : layers.output_gradient.span()) g = 0.0F;
  RelevanceGraphSink sink(kLayers);
  layers.send_to(sink);
  EXPECT_EQ(sink.negative_share(), 1.0);
  const AttentionGraph graph = sink.take();
  EXPECT_EQ(graph.unit, 1.0);
  const Tensor<double> identity = graph.top(2);
  for (std::size_t i = 0; i < kTokens; ++i) {
    for (std::size_t j = 0; j < kTokens; ++j) EXPECT_EQ(identity(i, j), i == j ? 1.0 : 0.0);
  }
}

TEST(Relevance, RemovalLeavesWhatStays) {
  const Layers layers;
  RelevanceGraphSink whole(kLayers);
  layers.send_to(whole);
  const AttentionGraph graph = whole.take();
  RelevanceGraphSink sink(kLayers, {.mask_columns = {1}});
  layers.send_to(sink);
  const AttentionGraph masked = sink.take();
  for (std::size_t i = 0; i < kTokens; ++i) {
    for (std::size_t j = 0; j < kTokens; ++j) {
      const double expected = j == 1 && i != j ? 0.0 : graph.weights(0, i, j) * graph.unit;
      EXPECT_EQ(masked.weights(0, i, j) * masked.unit, expected);
    }
  }
  RelevanceGraphSink bad(kLayers, {.mask_columns = {kTokens}});
  EXPECT_THROW(bad.layer(layers[1]), Error);
}

TEST(Relevance, SharesOfTheFeedForwardNetsAreOfSizesSummedByGroup) {
  const Layers layers;
  const std::size_t n = layers.stack.tokens();
  const auto amounts = [&](std::size_t l, float factor) {
    std::vector<float> result(n);
    for (std::size_t i = 0; i < n; ++i) result[i] = factor * (static_cast<float>(l + i) - 2.0F);
    return result;
  };
  RelevanceGraphSink sink(kLayers);
  for (std::size_t l = kLayers; l >= 1; --l) {
    EXPECT_TRUE(sink.feed_forward().through.empty());  // until every layer has come
    const std::vector<float> through = amounts(l, 1.0F);
    const std::vector<float> past = amounts(l, -3.0F);
    LayerGradients one = layers[l];
    one.through_feed_forward = {through.data(), {n}};
    one.past_feed_forward = {past.data(), {n}};
    sink.layer(one);
  }
  TokenGroups groups;
  for (std::size_t i = 0; i < n; ++i) groups.push_back({i});
  const Tensor<double> single = feed_forward_shares(sink.feed_forward(), groups);
  ASSERT_EQ(single.shape(), (Shape{kLayers, n}));
  for (std::size_t l = 0; l < kLayers; ++l) {
    // Three times as much passes them by; at one position nothing is relevant.
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(single(l, i), l + i == 1 ? 0.0 : 0.25);
  }
  FeedForwardRelevance uneven{Tensor<double>({1, 2}, {1.0, 3.0}), Tensor<double>({1, 2}, {1.0, 11.0})};
  EXPECT_EQ(feed_forward_shares(uneven, {{0, 1}})(0, 0), 0.25);
  EXPECT_TRUE(feed_forward_shares({}, groups).empty());
}

TEST(Relevance, RefusesDamagedLayers) {
  Layers layers;
  layers.residual(1, 2, 0) = std::numeric_limits<float>::quiet_NaN();
  RelevanceGraphSink sink(kLayers);
  sink.layer(layers[3]);
  test::expect_error(ErrorKind::kBadFile, {"layer 2, position 2"}, [&] { sink.layer(layers[2]); });
  LayerGradients without = layers[1];
  without.residual = {};
  EXPECT_THROW(sink.layer(without), Error);
  LayerGradients half = layers[1];
  const std::vector<float> one(1, 1.0F);
  half.through_feed_forward = {one.data(), {1}};
  test::expect_error(ErrorKind::kOther, {"feed-forward"}, [&] { sink.layer(half); });
  LayerGradients endless = layers[1];
  const std::vector<float> all(layers[1].attention.extent(1), std::numeric_limits<float>::infinity());
  endless.through_feed_forward = endless.past_feed_forward = {all.data(), {all.size()}};
  test::expect_error(ErrorKind::kBadFile, {"finite feed-forward relevance", "layer 1"}, [&] { sink.layer(endless); });
}

}  // namespace
}  // namespace attnflow
