#include "attnflow/metrics/relevance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "attnflow/metrics/rank_correlation.h"

namespace attnflow::relevance_test {
namespace {

using Values = std::vector<double>;

Tensor<double> random_attention(std::size_t n, Random& random) {
  Tensor<double> attention({n, n});
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += attention(i, j) = std::exp(2 * random.normal());
    for (std::size_t j = 0; j < n; ++j) attention(i, j) /= sum;
  }
  return attention;
}

Tensor<double> first_rollout(const Tensor<double>& attention) {
  Tensor<double> mixing(attention.shape());
  for (std::size_t i = 0; i < attention.extent(0); ++i) {
    for (std::size_t j = 0; j < attention.extent(1); ++j) {
      mixing(i, j) = 0.5 * attention(i, j) + (i == j ? 0.5 : 0);
    }
  }
  return mixing;
}

TEST(Relevance, OfASmallExample) {
  const Tensor<double> values({2, 3}, {1, 5, 2, 4, 0, 2});
  EXPECT_EQ(relevance(values.view()).values, (Values{1, 5, 2}));
  EXPECT_EQ(relevance(values.view(), {.output_token = 1}).values, (Values{4, 0, 2}));
  EXPECT_EQ(relevance(values.view(), {.kind = RelevanceKind::kMaximum}).values, (Values{4, 5, 2}));
  EXPECT_EQ(relevance(values.view(), {.kind = RelevanceKind::kSum}).values, (Values{5, 5, 4}));
  EXPECT_TRUE(relevance(values.view()).gaps.empty());
}

TEST(Relevance, SumsOfRawAndRolloutRankTheSameAtLayerOne) {
  Random random(1);
  for (int trial = 0; trial < 20; ++trial) {
    const Tensor<double> raw = random_attention(15, random);
    const Tensor<double> rollout = first_rollout(raw);
    const RelevanceOptions sum{.kind = RelevanceKind::kSum};
    EXPECT_EQ(spearman(relevance(raw.view(), sum).values, relevance(rollout.view(), sum).values), 1.0);
    // Maxima do not: the residual raises every diagonal above the rest.
    const RelevanceOptions maximum{.kind = RelevanceKind::kMaximum};
    EXPECT_NE(spearman(relevance(raw.view(), maximum).values, relevance(rollout.view(), maximum).values), 1.0);
  }
}

TEST(Relevance, OneOutputTokenDiffersAtItselfOnlyAtLayerOne) {
  Random random(2);
  for (int trial = 0; trial < 20; ++trial) {
    const Tensor<double> raw = random_attention(15, random);
    const Relevance of_raw = relevance(raw.view());
    const Relevance of_rollout = relevance(first_rollout(raw).view());
    std::vector<bool> others(15, true);
    others[0] = false;
    EXPECT_EQ(spearman(select(of_raw, others).values, select(of_rollout, others).values), 1.0);
    EXPECT_EQ(average_ranks(of_rollout.values)[0], 15.0);
  }
}

TEST(Relevance, GapsEnclose) {
  const Tensor<double> values({2, 3}, {1, 5, 2, 4, 0, 2});
  const Tensor<double> gaps({2, 3}, {4, 0, 1, 0.5, 9, 0.25});
  EXPECT_EQ(relevance(values.view(), gaps.view(), {.output_token = 1}).gaps, (Values{0.5, 9, 0.25}));
  // Largest high ends: 5, 9, 3.
  EXPECT_EQ(relevance(values.view(), gaps.view(), {.kind = RelevanceKind::kMaximum}).gaps, (Values{1, 4, 1}));
  EXPECT_EQ(relevance(values.view(), gaps.view(), {.kind = RelevanceKind::kSum}).gaps, (Values{4.5, 9, 1.25}));
  for (const RelevanceKind kind : {RelevanceKind::kOutputToken, RelevanceKind::kMaximum, RelevanceKind::kSum}) {
    EXPECT_EQ(relevance(values.view(), gaps.view(), {.kind = kind}).values,
              relevance(values.view(), {.kind = kind}).values);
  }
}

TEST(Relevance, GapsEncloseEveryTruth) {
  Random random(3);
  for (int trial = 0; trial < 50; ++trial) {
    Tensor<double> low({4, 6});
    Tensor<double> gaps({4, 6});
    Tensor<double> truth({4, 6});
    for (std::size_t i = 0; i < low.size(); ++i) {
      low.span()[i] = random.uniform();
      gaps.span()[i] = 0.3 * random.uniform();
      truth.span()[i] = low.span()[i] + random.uniform() * gaps.span()[i];
    }
    for (const RelevanceKind kind : {RelevanceKind::kMaximum, RelevanceKind::kSum}) {
      const Relevance enclosure = relevance(low.view(), gaps.view(), {.kind = kind});
      const Values exact = relevance(truth.view(), {.kind = kind}).values;
      for (std::size_t j = 0; j < 6; ++j) {
        EXPECT_GE(exact[j], enclosure.values[j] - 1e-15);
        EXPECT_LE(exact[j], enclosure.values[j] + enclosure.gaps[j] + 1e-15);
      }
    }
  }
}

TEST(Relevance, TakesFewerOutputsThanInputs) {
  const Tensor<double> values({1, 3}, {1, 5, 2});
  for (const RelevanceKind kind : {RelevanceKind::kOutputToken, RelevanceKind::kMaximum, RelevanceKind::kSum}) {
    EXPECT_EQ(relevance(values.view(), {.kind = kind}).values, (Values{1, 5, 2}));
  }
}

TEST(Select, KeepsValuesAndGapsAlike) {
  EXPECT_EQ(select(Values{1, 2, 3}, {true, false, true}), (Values{1, 3}));
  EXPECT_TRUE(select(Values{1}, {false}).empty());
  const Relevance selected = select(Relevance{{1, 2, 3}, {4, 5, 6}}, {false, true, true});
  EXPECT_EQ(selected.values, (Values{2, 3}));
  EXPECT_EQ(selected.gaps, (Values{5, 6}));
  EXPECT_TRUE(select(Relevance{{1, 2}, {}}, {true, true}).gaps.empty());
}

TEST(Relevance, RefusesWhatIsNoMatrix) {
  const Tensor<double> values({2, 3});
  const Tensor<double> turned({3, 2});
  const Tensor<double> bad({1, 2}, {1, std::nan("")});
  EXPECT_THROW(relevance(values.view(), turned.view()), Error);
  EXPECT_THROW(relevance(Tensor<double>({0, 3}).view(), {.kind = RelevanceKind::kSum}), Error);
  EXPECT_THROW(relevance(bad.view(), {.kind = RelevanceKind::kMaximum}), Error);
  EXPECT_THROW(relevance(Tensor<double>({1, 2}).view(), bad.view()), Error);
}

}  // namespace
}  // namespace attnflow::relevance_test
