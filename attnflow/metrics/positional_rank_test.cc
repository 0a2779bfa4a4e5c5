#include "attnflow/metrics/positional_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attnflow::positional_rank_test {
namespace {

TEST(PositionalRank, IsTheHabitOfTheOthers) {
  const std::vector<RankedWords> samples = {{{6.0, 3.0, 1.0}, 1}, {{1.0, 3.0}, 0}, {{0.0, 1.0, 1.0}, 2}};
  const std::vector<double> start = positional_reciprocal_ranks(samples, PlaceFrom::kStart);
  // Sample 0: places (0.25 + 0) / 2, (0.75 + 0.5) / 2, 0.5: the second is first.
  EXPECT_DOUBLE_EQ(start[0], 1.0);
  // Sample 1: (0.6 + 0) / 2 = 0.3 against (0.3 + 0.5) / 2 = 0.4: the first is second.
  EXPECT_DOUBLE_EQ(start[1], 0.5);
  // Sample 2: 0.425, 0.525, 0.1: the last is third.
  EXPECT_DOUBLE_EQ(start[2], 1.0 / 3.0);
  const std::vector<double> end = positional_reciprocal_ranks(samples, PlaceFrom::kEnd);
  // From the end, sample 2: 0.1 and 0.75, 0.3 and 0.25, 0.6: the last word is at place 0 with 0.425, after 0.6.
  EXPECT_DOUBLE_EQ(end[2], 0.5);
}

TEST(PositionalRank, OfAMethodThatLikesTheFirstWordIsItself) {
  std::vector<RankedWords> samples;
  for (std::size_t n = 3; n < 9; ++n) {
    RankedWords sample{std::vector<double>(n), 0};
    for (std::size_t w = 0; w < n; ++w) sample.values[w] = std::exp(-static_cast<double>(w));
    samples.push_back(sample);
  }
  for (const double rank : positional_reciprocal_ranks(samples, PlaceFrom::kStart)) EXPECT_DOUBLE_EQ(rank, 1.0);
}

TEST(PositionalRank, KnowsNothingOfASampleAlone) {
  const std::vector<RankedWords> one = {{{0.9, 0.1}, 0}};
  EXPECT_DOUBLE_EQ(positional_reciprocal_ranks(one, PlaceFrom::kStart)[0], 0.75);  // both last: a tie
  const std::vector<RankedWords> empty = {{{}, 0}, {{0.5, 0.5}, 1}};
  EXPECT_TRUE(std::isnan(positional_reciprocal_ranks(empty, PlaceFrom::kEnd)[0]));
}

}  // namespace
}  // namespace attnflow::positional_rank_test
