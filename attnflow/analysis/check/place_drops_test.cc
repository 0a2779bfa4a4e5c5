#include "attnflow/analysis/check/place_drops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace attnflow::place_drops_test {
namespace {

ReplacementCheck check_of(std::vector<TriedReplacement> tried, double own_weight) {
  ReplacementCheck check{.value = 5.0, .own_weight = own_weight, .places = {{.tried = std::move(tried)}}};
  summarize_drop(check, 0);
  return check;
}

TEST(PlaceDrops, WeighsByFit) {
  const ReplacementCheck check = check_of({{"a", 1.0, 1.0}, {"b", 0.5, 4.0}}, 0.0);
  EXPECT_DOUBLE_EQ(check.places[0].drop, (1.0 * 4.0 + 0.5 * 1.0) / 1.5);
  EXPECT_GT(check.places[0].spread, 0.0);
}

TEST(PlaceDrops, LeavesOutWhatIsNotFinite) {
  const ReplacementCheck check = check_of({{"a", 1.0, 1.0}, {"b", 1.0, std::nan("")}}, 0.0);
  EXPECT_EQ(check.places[0].tried.size(), 1U);
  EXPECT_DOUBLE_EQ(check.places[0].drop, 4.0);
}

// Where hardly any replacement fits, the drop is small and uncertain, not surely 0.
TEST(PlaceDrops, AnUnfitPlaceIsUncertain) {
  const std::vector<TriedReplacement> fitting = {{"a", 1.0, 0.5}, {"b", 1.0, 1.5}};
  const std::vector<TriedReplacement> unfit = {{"a", 1e-5, 0.5}, {"b", 1e-5, 1.5}};
  constexpr double kWeight = 0.06;
  const PlaceDrop sure = check_of(fitting, kWeight).places[0];
  const PlaceDrop unsure = check_of(unfit, kWeight).places[0];
  EXPECT_DOUBLE_EQ(sure.drop, 2.0 * 4.0 / (2.0 + 2.0 * kWeight));
  EXPECT_LT(unsure.drop, 0.01);
  EXPECT_DOUBLE_EQ(unsure.spread, sure.spread);
  EXPECT_DOUBLE_EQ(sure.spread, check_of(fitting, 0.0).places[0].spread);
}

}  // namespace
}  // namespace attnflow::place_drops_test
