#include "attnflow/metrics/rank_correlation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "attnflow/base/error_for_test.h"
#include "attnflow/base/random.h"
#include "attnflow/metrics/golden_evaluate_for_test.h"

namespace attnflow::rank_correlation_test {
namespace {

using Values = std::vector<double>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Values optional_values(const nlohmann::json& object, const std::string& key) {
  return object.contains(key) ? object.at(key).get<Values>() : Values{};
}

void expect_equal(const std::optional<double>& found, const nlohmann::json& expected) {
  ASSERT_EQ(found.has_value(), !expected.is_null());
  if (!found) return;
  EXPECT_NEAR(*found, expected.get<double>(), 1e-12);
}

TEST(RankCorrelation, AgreesWithSciPy) {
  std::size_t correlated = 0;
  std::size_t enclosures = 0;
  for (const nlohmann::json& example : golden_cases("correlations")) {
    SCOPED_TRACE(example.at("name").get<std::string>());
    const Values first = example.at("first").get<Values>();
    const Values second = example.at("second").get<Values>();
    const Values first_gaps = optional_values(example, "first_gaps");
    const Values second_gaps = optional_values(example, "second_gaps");
    EXPECT_EQ(average_ranks(first, first_gaps), example.at("first_average_ranks").get<Values>());
    EXPECT_EQ(average_ranks(second, second_gaps), example.at("second_average_ranks").get<Values>());
    EXPECT_EQ(dense_ranks(first, first_gaps), example.at("first_dense_ranks").get<Values>());
    EXPECT_EQ(dense_ranks(second, second_gaps), example.at("second_dense_ranks").get<Values>());
    SpearmanOptions options{.first_gaps = first_gaps, .second_gaps = second_gaps};
    expect_equal(spearman(first, second, options), example.at("standard"));
    options.formula = SpearmanFormula::kDenseRanks;
    expect_equal(spearman(first, second, options), example.at("dense_ranks"));
    if (!example.at("standard").is_null()) ++correlated;
    if (!first_gaps.empty()) ++enclosures;
  }
  EXPECT_GE(correlated, 20U);
  EXPECT_GE(enclosures, 10U);
}

TEST(RankCorrelation, EqualAndOppositeOrdersAreExact) {
  Random random(1);
  for (std::size_t n = 2; n < 200; n += 7) {
    Values values(n);
    for (double& value : values) value = std::round(4 * random.normal());
    if (std::all_of(values.begin(), values.end(), [&](double x) { return x == values[0]; })) continue;
    Values same = values;
    Values opposite = values;
    for (double& value : same) value = std::exp(value);  // a different unit, but the same order
    for (double& value : opposite) value = -value;
    EXPECT_EQ(spearman(values, same), 1.0);
    EXPECT_EQ(spearman(values, opposite), -1.0);
  }
}

TEST(RankCorrelation, FormulasAgreeWithoutTiesAndOnlyThen) {
  Random random(2);
  for (int trial = 0; trial < 20; ++trial) {
    Values first(17);
    Values second(17);
    for (double& value : first) value = random.normal();
    for (double& value : second) value = random.normal();
    EXPECT_NEAR(spearman(first, second).value(),
                spearman(first, second, {.formula = SpearmanFormula::kDenseRanks}).value(), 1e-14);
  }
  EXPECT_EQ(spearman(Values{1, 1, 2}, Values{2, 2, 1}), -1.0);
  EXPECT_EQ(spearman(Values{1, 1, 2}, Values{2, 2, 1}, {.formula = SpearmanFormula::kDenseRanks}), 0.25);
}

TEST(RankCorrelation, ConstantVectorsHaveNone) {
  for (const SpearmanFormula formula : {SpearmanFormula::kStandard, SpearmanFormula::kDenseRanks}) {
    EXPECT_EQ(spearman({}, {}, {.formula = formula}), std::nullopt);
    EXPECT_EQ(spearman(Values{1}, Values{2}, {.formula = formula}), std::nullopt);
    EXPECT_EQ(spearman(Values{3, 3, 3}, Values{1, 2, 3}, {.formula = formula}), std::nullopt);
    EXPECT_EQ(spearman(Values{1, 2, 3}, Values{0.0, -0.0, 0.0}, {.formula = formula}), std::nullopt);
  }
  const Values gaps{1, 1, 0};
  EXPECT_EQ(spearman(Values{1, 2, 3}, Values{1, 2, 3}, {.first_gaps = gaps}), std::nullopt);
  EXPECT_EQ(spearman(Values{1, 2, 3}, Values{1, 2, 3}, {.second_gaps = gaps}), std::nullopt);
}

TEST(TieGroups, ChainOverlappingEnclosures) {
  const Values values{0.0, 0.5, 1.0, 1.75, 3.0};
  EXPECT_EQ(dense_ranks(values), (Values{1, 2, 3, 4, 5}));
  EXPECT_EQ(dense_ranks(values, Values{0.5, 0.5, 0, 0, 0}), (Values{1, 1, 1, 2, 3}));  // ends that touch
  EXPECT_EQ(dense_ranks(values, Values{1.5, 0, 0, 0, 9}), (Values{1, 1, 1, 2, 3}));    // one covers those after it
  EXPECT_EQ(average_ranks(values, Values{1.5, 0, 0, 0, 9}), (Values{2, 2, 2, 4, 5}));
}

TEST(TieGroups, DoNotDependOnTheOrderOfTheInput) {
  Random random(3);
  Values values(40);
  Values gaps(40);
  for (double& value : values) value = random.uniform();
  for (double& gap : gaps) gap = 0.03 * random.uniform();
  const Values expected = average_ranks(values, gaps);
  std::vector<std::size_t> order(40);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (int trial = 0; trial < 10; ++trial) {
    random.shuffle(order);
    Values shuffled;
    Values shuffled_gaps;
    Values shuffled_expected;
    for (const std::size_t i : order) {
      shuffled.push_back(values[i]);
      shuffled_gaps.push_back(gaps[i]);
      shuffled_expected.push_back(expected[i]);
    }
    EXPECT_EQ(average_ranks(shuffled, shuffled_gaps), shuffled_expected);
  }
}

TEST(RankCorrelation, RanksInfiniteValues) {
  EXPECT_EQ(average_ranks(Values{kInfinity, 0, -kInfinity, kInfinity}), (Values{3.5, 2, 1, 3.5}));
}

TEST(RankCorrelation, RefusesWhatCannotBeRanked) {
  const Values good{1, 2, 3};
  const auto expect_usage = [](const auto& call, const std::string& words) {
    test::expect_error(ErrorKind::kUsage, {words}, call);
  };
  expect_usage([&] { spearman(good, Values{1, 2}); }, "found 3 and 2");
  expect_usage([&] { spearman(Values{1, kNaN, 3}, good); }, "value 1 of 3 is NaN");
  expect_usage([&] { spearman(good, Values{1, kNaN, 3}); }, "value 1 of 3 is NaN");
  expect_usage([&] { spearman(Values{kNaN}, Values{1}); }, "NaN");
  expect_usage([&] { average_ranks(good, Values{0, 0}); }, "found 2");
  for (const double gap : {-1.0, kNaN, kInfinity}) {
    expect_usage([&] { dense_ranks(good, Values{0, gap, 0}); }, "gap 1 is");
  }
}

}  // namespace
}  // namespace attnflow::rank_correlation_test
