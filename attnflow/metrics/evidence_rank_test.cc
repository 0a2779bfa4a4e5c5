#include "attnflow/metrics/evidence_rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace attnflow::evidence_rank_test {
namespace {

TEST(EvidenceRank, IsOneOverThePlaceWithoutTies) {
  const std::vector<double> values = {0.1, 0.7, 0.3, 0.2};
  EXPECT_DOUBLE_EQ(expected_reciprocal_rank(values, 1), 1.0);
  EXPECT_DOUBLE_EQ(expected_reciprocal_rank(values, 2), 0.5);
  EXPECT_DOUBLE_EQ(expected_reciprocal_rank(values, 0), 0.25);
}

double mean_over_orders(const std::vector<double>& values, std::size_t word) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double sum = 0.0;
  std::size_t count = 0;
  do {
    const auto falls = [&](std::size_t a, std::size_t b) { return values[a] > values[b]; };
    if (!std::is_sorted(order.begin(), order.end(), falls)) continue;
    const auto place = std::find(order.begin(), order.end(), word) - order.begin();
    sum += 1.0 / static_cast<double>(place + 1);
    ++count;
  } while (std::next_permutation(order.begin(), order.end()));
  return sum / static_cast<double>(count);
}

TEST(EvidenceRank, TiesAreTheMeanOverTheirOrders) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> values(6);
    for (double& value : values) value = static_cast<double>(random() % 3);
    for (std::size_t word = 0; word < values.size(); ++word) {
      EXPECT_NEAR(expected_reciprocal_rank(values, word), mean_over_orders(values, word), 1e-15);
    }
  }
}

TEST(EvidenceRank, ConstantValuesScoreLikeARandomOrder) {
  for (std::size_t n = 1; n < 9; ++n) {
    EXPECT_DOUBLE_EQ(expected_reciprocal_rank(std::vector<double>(n, 0.5), n - 1), random_reciprocal_rank(n));
  }
  EXPECT_DOUBLE_EQ(random_reciprocal_rank(2), 0.75);
}

TEST(EvidenceRank, EnclosuresThatMeetAreTies) {
  const std::vector<double> values = {0.5, 0.5001, 0.2};
  const std::vector<double> narrow = {0.0, 0.0, 0.0};
  const std::vector<double> wide = {0.001, 0.0, 0.0};
  EXPECT_DOUBLE_EQ(expected_reciprocal_rank(values, 0, narrow), 0.5);
  EXPECT_DOUBLE_EQ(expected_reciprocal_rank(values, 0, wide), 0.75);
  EXPECT_DOUBLE_EQ(expected_reciprocal_rank(values, 1, wide), 0.75);
}

}  // namespace
}  // namespace attnflow::evidence_rank_test
