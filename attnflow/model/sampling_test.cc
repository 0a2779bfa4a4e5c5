#include "attnflow/model/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attnflow/base/error.h"

namespace attnflow::sampling_test {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

TEST(Sampling, GreedyTakesTheLargestAndOfEqualOnesTheFirst) {
  Sampler greedy({});
  EXPECT_EQ(greedy.choose(std::vector<float>{1.0F, 3.0F, 3.0F, kNone}), 1U);
  EXPECT_EQ(greedy.choose(std::vector<float>{kNone, -2.0F}), 1U);
}

TEST(Sampling, DrawsInProportionAndFollowsTheSeed) {
  const std::vector<float> logits = {0.0F, std::log(2.0F), std::log(5.0F), kNone};
  Sampler sampler({.temperature = 1.0, .top_p = 1.0, .seed = 4});
  Sampler again({.temperature = 1.0, .top_p = 1.0, .seed = 4});
  std::vector<double> counts(4, 0.0);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const std::size_t token = sampler.choose(logits);
    ASSERT_EQ(token, again.choose(logits));
    counts[token] += 1.0 / kDraws;
  }
  // Four standard deviations of a proportion.
  constexpr double kWide = 4.0 * 0.5 / 141.0;
  EXPECT_NEAR(counts[0], 1.0 / 8.0, kWide);
  EXPECT_NEAR(counts[1], 2.0 / 8.0, kWide);
  EXPECT_NEAR(counts[2], 5.0 / 8.0, kWide);
  EXPECT_EQ(counts[3], 0.0);
}

TEST(Sampling, TemperatureSharpens) {
  const std::vector<float> logits = {0.0F, 1.0F};
  Sampler cold({.temperature = 0.01, .top_p = 1.0, .seed = 1});
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(cold.choose(logits), 1U);
}

TEST(Sampling, TheNucleusIsTheFewestTokensThatHoldTheShare) {
  const std::vector<float> logits = {std::log(5.0F), std::log(3.0F), std::log(2.0F)};
  Sampler half({.temperature = 1.0, .top_p = 0.49, .seed = 1});
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(half.choose(logits), 0U);
  Sampler more({.temperature = 1.0, .top_p = 0.75, .seed = 1});
  bool second = false;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t token = more.choose(logits);
    ASSERT_LT(token, 2U);
    second = second || token == 1;
  }
  EXPECT_TRUE(second);
}

TEST(Sampling, RefusesWhatIsNoChoice) {
  EXPECT_THROW(Sampler({.temperature = -0.1}), Error);
  EXPECT_THROW(Sampler({.temperature = std::nan("")}), Error);
  EXPECT_THROW(Sampler({.temperature = 1.0, .top_p = 1.1}), Error);
  EXPECT_THROW(Sampler({.temperature = 1.0, .top_p = std::nan("")}), Error);
  Sampler greedy({});
  EXPECT_THROW(greedy.choose(std::vector<float>{1.0F, std::nanf("")}), Error);
  EXPECT_THROW(greedy.choose(std::vector<float>{kNone, kNone}), Error);
  EXPECT_THROW(greedy.choose(std::vector<float>{}), Error);
}

TEST(Sampling, ProbabilitiesAreTheSoftmax) {
  const std::vector<float> logits = {1000.0F, 1000.0F + std::log(3.0F), kNone};
  EXPECT_NEAR(token_probability(logits, 0), 0.25, 1e-4);  // 1000 keeps log 3 to about 1e-5
  EXPECT_EQ(token_probability(logits, 2), 0.0);
  const auto best = most_probable(logits, 10);
  ASSERT_EQ(best.size(), 3U);
  EXPECT_EQ(best[0].id, 1U);
  EXPECT_NEAR(best[0].probability + best[1].probability, 1.0, 1e-15);
}

}  // namespace
}  // namespace attnflow::sampling_test
