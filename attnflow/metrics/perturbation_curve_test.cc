#include "attnflow/metrics/perturbation_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "attnflow/base/error.h"

namespace attnflow::perturbation_curve_test {
namespace {

using Order = std::vector<std::size_t>;

TEST(ImportanceOrder, FallsByValue) {
  const std::vector<double> values = {0.1, 0.7, -2.0, 0.3};
  for (std::uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(importance_order(values, seed), (Order{1, 3, 0, 2}));
  EXPECT_TRUE(importance_order({}, 1).empty());
}

TEST(ImportanceOrder, TiesAreShuffledAndNothingElse) {
  const std::vector<double> values = {1.0, 2.0, 1.0, 1.0, 0.0};
  std::set<Order> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Order order = importance_order(values, seed);
    EXPECT_EQ(order.front(), 1U);
    EXPECT_EQ(order.back(), 4U);
    EXPECT_EQ(order, importance_order(values, seed));
    seen.insert(order);
  }
  EXPECT_EQ(seen.size(), 6U);  // 3!
}

TEST(ImportanceOrder, EnclosuresThatMeetAreTies) {
  // 3 and 2.5 + 1 meet, and so do 2.5 and 2.4 + 0.2; 1 + 0.5 meets none.
  const std::vector<double> values = {2.5, 3.0, 1.0, 2.4};
  const std::vector<double> gaps = {1.0, 0.0, 0.5, 0.2};
  std::set<Order> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Order order = importance_order(values, seed, gaps);
    EXPECT_EQ(order.back(), 2U);
    seen.insert(order);
  }
  EXPECT_EQ(seen.size(), 6U);
  std::set<Order> wide;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    wide.insert(importance_order(std::vector<double>{3.0, 2.0, 1.0}, seed, std::vector<double>{0.0, 0.0, 5.0}));
  }
  EXPECT_EQ(wide.size(), 6U);
  const std::vector<double> none(4, 0.0);
  EXPECT_EQ(importance_order(values, 1, none), (Order{1, 0, 3, 2}));
}

TEST(CurvePoints, GoFromNothingToAll) {
  EXPECT_EQ(curve_points(4, 4), (Order{0, 1, 2, 3, 4}));
  EXPECT_EQ(curve_points(4, 100), (Order{0, 1, 2, 3, 4}));
  EXPECT_EQ(curve_points(7, 1), (Order{0, 7}));
  for (std::size_t n = 1; n < 60; ++n) {
    for (std::size_t steps = 1; steps < 70; ++steps) {
      const Order points = curve_points(n, steps);
      ASSERT_EQ(points.size(), std::min(n, steps) + 1);
      ASSERT_EQ(points.front(), 0U);
      ASSERT_EQ(points.back(), n);
      for (std::size_t j = 1; j < points.size(); ++j) {
        ASSERT_GE(points[j] - points[j - 1], n / std::min(n, steps));
        ASSERT_LE(points[j] - points[j - 1], n / std::min(n, steps) + 1);
      }
    }
  }
  EXPECT_THROW(curve_points(0, 1), Error);
}

TEST(AreaUnderCurve, IsThatOfTheBrokenLine) {
  EXPECT_DOUBLE_EQ(area_under_curve(Order{0, 1, 2}, std::vector<double>{1.0, 1.0, 1.0}), 1.0);
  EXPECT_DOUBLE_EQ(area_under_curve(Order{0, 5}, std::vector<double>{1.0, 0.0}), 0.5);
  // Uneven steps: 0.5 (1 + 0) over a quarter, then nothing.
  EXPECT_DOUBLE_EQ(area_under_curve(Order{0, 1, 4}, std::vector<double>{1.0, 0.0, 0.0}), 0.125);
  EXPECT_THROW(area_under_curve(Order{0, 1}, std::vector<double>{1.0}), Error);
  EXPECT_THROW(area_under_curve(Order{0}, std::vector<double>{1.0}), Error);
}

// The probability is the sum of the shown patches' weights: the order by weight has the smallest deletion area, and the
// insertion area is 1 minus that of removing in reverse.
TEST(AreaUnderCurve, ThrivesOnTheTrueOrder) {
  const std::vector<double> weights = {0.4, 0.1, 0.3, 0.2};
  const auto deletion = [&](const Order& order) {
    std::vector<double> curve = {1.0};
    for (const std::size_t patch : order) curve.push_back(curve.back() - weights[patch]);
    return area_under_curve(curve_points(4, 4), curve);
  };
  const double best = deletion(importance_order(weights, 1));
  Order order = {0, 1, 2, 3};
  double sum = 0.0;
  std::size_t count = 0;
  do {
    EXPECT_GE(deletion(order), best - 1e-15);
    sum += deletion(order);
    ++count;
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_NEAR(sum / static_cast<double>(count), 0.5, 1e-12);  // the value for a random order
}

}  // namespace
}  // namespace attnflow::perturbation_curve_test
