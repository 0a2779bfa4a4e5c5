#include "attnflow/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace attnflow::random_test {
namespace {

using State = std::array<std::uint64_t, 4>;

// The values printed by the authors' programs splitmix64.c and xoshiro256starstar.c.
TEST(Random, IsTheGeneratorThatItsAuthorsPublished) {
  EXPECT_EQ(Random(0).state(),
            (State{0xe220a8397b1dcdafU, 0x6e789e6aa1b965f4U, 0x06c45d188009454fU, 0xf88bb8a8724c81ecU}));
  Random random(0);
  random.set_state({1, 2, 3, 4});
  for (const std::uint64_t expected :
       {std::uint64_t{11520}, std::uint64_t{0}, std::uint64_t{1509978240}, std::uint64_t{1215971899390074240}}) {
    EXPECT_EQ(random.next(), expected);
  }
}

TEST(Random, GoesOnFromASavedState) {
  Random random(7);
  random.normal();
  Random other(8);
  other.set_state(random.state());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.normal(), other.normal());
  EXPECT_EQ(random.state(), other.state());
  EXPECT_THROW(random.set_state({0, 0, 0, 0}), Error);
  EXPECT_EQ(random.state(), other.state());
}

// Pearson's chi-squared statistic of k equally likely cells has mean k - 1 and variance 2 (k - 1); the seeds are fixed,
// so a limit of six standard deviations detects a wrong generator without ever failing by chance.
double standardised_chi_squared(const std::vector<std::size_t>& counts) {
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  const double expected = total / static_cast<double>(counts.size());
  double statistic = 0;
  for (const std::size_t count : counts) {
    const double difference = static_cast<double>(count) - expected;
    statistic += difference * difference / expected;
  }
  const double freedom = static_cast<double>(counts.size()) - 1;
  return (statistic - freedom) / std::sqrt(2 * freedom);
}

TEST(Random, BelowIsUniform) {
  Random random(1);
  for (const std::uint64_t n : {2U, 3U, 10U, 1000U}) {
    std::vector<std::size_t> counts(n);
    for (int i = 0; i < 200000; ++i) ++counts[random.below(n)];
    EXPECT_LT(std::abs(standardised_chi_squared(counts)), 6.0) << "n = " << n;
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(random.below(1), 0U);
}

// With n = 3/4 of 2^64, a remainder without redrawing would hit the lowest third twice as often as the others.
TEST(Random, BelowHasNoModuloBias) {
  Random random(2);
  const std::uint64_t n = std::uint64_t{3} << 62;
  std::vector<std::size_t> counts(3);
  for (int i = 0; i < 90000; ++i) {
    const std::uint64_t value = random.below(n);
    ASSERT_LT(value, n);
    ++counts[value >> 62];
  }
  EXPECT_LT(std::abs(standardised_chi_squared(counts)), 6.0);
}

TEST(Random, UniformFillsTheHalfOpenInterval) {
  Random random(3);
  std::vector<std::size_t> counts(64);
  for (int i = 0; i < 200000; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    ++counts[static_cast<std::size_t>(value * 64)];
  }
  EXPECT_LT(std::abs(standardised_chi_squared(counts)), 6.0);
}

// The largest distance between the empirical and the normal distribution function (Kolmogorov and Smirnov) is below
// 1.95 / sqrt(count) except for one seed in a thousand; the moments check the tails.
TEST(Random, NormalIsNormal) {
  Random random(4);
  constexpr std::size_t kCount = 200000;
  std::vector<double> values(kCount);
  for (double& value : values) value = random.normal();
  std::sort(values.begin(), values.end());
  double distance = 0;
  std::array<double, 5> moment{};
  for (std::size_t i = 0; i < kCount; ++i) {
    const double expected = 0.5 * std::erfc(-values[i] / std::sqrt(2.0));
    distance = std::max(distance, std::abs(expected - (static_cast<double>(i) + 0.5) / kCount));
    for (std::size_t k = 1; k < moment.size(); ++k) moment[k] += std::pow(values[i], static_cast<double>(k)) / kCount;
  }
  EXPECT_LT(distance, 1.95 / std::sqrt(static_cast<double>(kCount)));
  // The standard deviation of a sample's k-th moment is sqrt((E x^2k - (E x^k)^2) / N): the limit is six of those.
  const double unit = 6 / std::sqrt(static_cast<double>(kCount));
  EXPECT_NEAR(moment[1], 0, unit);
  EXPECT_NEAR(moment[2], 1, unit * std::sqrt(2.0));
  EXPECT_NEAR(moment[3], 0, unit * std::sqrt(15.0));
  EXPECT_NEAR(moment[4], 3, unit * std::sqrt(96.0));
}

TEST(Random, EveryOrderIsEquallyLikely) {
  Random random(5);
  std::vector<std::size_t> counts(24);
  for (int i = 0; i < 120000; ++i) {
    std::vector<int> order{0, 1, 2, 3};
    random.shuffle(order);
    std::size_t number = 0;  // rank of the order, in the factorial number system: counts smaller later elements
    for (std::size_t a = 0; a < 4; ++a) {
      const auto smaller = std::count_if(order.begin() + static_cast<std::ptrdiff_t>(a), order.end(),
                                         [&](int value) { return value < order[a]; });
      number = number * (4 - a) + static_cast<std::size_t>(smaller);
    }
    ++counts[number];
  }
  EXPECT_LT(std::abs(standardised_chi_squared(counts)), 6.0);
  std::vector<int> none;
  random.shuffle(none);
  EXPECT_TRUE(none.empty());
}

TEST(Random, StreamsDiffer) {
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (std::uint64_t stream = 0; stream < 50; ++stream) seeds.push_back(stream_seed(seed, stream));
  }
  std::sort(seeds.begin(), seeds.end());
  EXPECT_EQ(std::adjacent_find(seeds.begin(), seeds.end()), seeds.end());
}

// Seeds identify models, tables and figures, so these must never change. Computed independently in Python.
TEST(Random, ValuesOfASeedNeverChange) {
  Random random(2020);
  EXPECT_EQ(random.next(), 2536873039720582659U);
  EXPECT_EQ(random.below(1000), 870U);
  EXPECT_EQ(random.uniform(), 0x1.a60ef10ce8c64p-1);
  EXPECT_EQ(random.normal(), 0x1.8920f31708898p-4);
  std::vector<int> order{0, 1, 2, 3, 4, 5, 6, 7};
  random.shuffle(order);
  EXPECT_EQ(order, (std::vector<int>{5, 7, 6, 2, 0, 1, 3, 4}));
}

}  // namespace
}  // namespace attnflow::random_test
