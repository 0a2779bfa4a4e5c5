#include "attnflow/explain/check_maps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include "attnflow/attribution/query.h"
#include "attnflow/report/report.h"

namespace attnflow::check_maps_test {
namespace {

Report sample() {
  Report report;
  report.settings.methods = {Method::kRollout};
  report.settings.layers = {1};
  for (const char* const text : {"[CLS]", "a", "b", "c", "d", "[SEP]"}) {
    InputToken& token = report.input.tokens.emplace_back();
    token.text = text;
    token.special = text[0] == '[';
  }
  report.output_tokens = {0};
  report.rollout = Tensor<double>({1, 1, 6}, {0.5, 0.04, 0.03, 0.02, 0.01, 0.4});
  return report;
}

CheckedInput input_of(const Report& report, std::optional<std::size_t> position = {}) {
  return {.quantity = "logit of yes", .position = position, .groups = single_tokens(report.input.tokens.size())};
}

// Drops of the tokens in order.
ReportCheck check_of(const std::vector<double>& drops) {
  ReportCheck check{.quantity = "logit of yes", .value = 5.0};
  for (std::size_t t = 0; t < drops.size(); ++t) check.tokens.push_back({.token = t, .drop = drops[t]});
  return check;
}

TEST(CheckMaps, RanksByTheSizeOfTheDropAndLeavesOutSpecialTokens) {
  const Report report = sample();
  ReportCheck check = check_of({95.0, 4.0, -3.0, 2.0, 1.0, 85.0});
  check_maps(check, report, 0, input_of(report));
  ASSERT_EQ(check.maps.size(), 1U);
  const MapCheck& map = check.maps[0];
  EXPECT_EQ(map.rank_correlation, 1.0);
  EXPECT_EQ(map.layer, 1U);
  EXPECT_EQ(map.compared, 4U);
  EXPECT_EQ(map.first_token, 1U);
  EXPECT_EQ(map.decisive_token, 1U);
}

TEST(CheckMaps, LeavesOutTheMaskThatIsPredicted) {
  const Report report = sample();
  ReportCheck check = check_of({0.0, 95.0, 1.0, 2.0, 3.0, 0.0});
  check_maps(check, report, 0, input_of(report, 1));
  ASSERT_EQ(check.maps.size(), 1U);
  EXPECT_EQ(check.maps[0].first_token, 2U);
  EXPECT_EQ(check.maps[0].decisive_token, 4U);
  EXPECT_EQ(check.maps[0].rank_correlation, -1.0);
}

TEST(CheckMaps, ComparesOnlyTokensThatWereChecked) {
  const Report report = sample();
  ReportCheck check = check_of({95.0, 4.0, -3.0, 2.0, 1.0, 85.0});
  check.tokens.erase(check.tokens.begin() + 1);
  check_maps(check, report, 0, input_of(report));
  EXPECT_EQ(check.maps[0].compared, 3U);
  EXPECT_EQ(check.maps[0].first_token, 2U);
}

TEST(CheckMaps, NamesTheTokenAboveAllThatNothingFitsInPlaceOf) {
  Report report = sample();
  report.settings.top_k = 1;
  ReportCheck check = check_of({0.0, 4.0, -3.0, 2.0, 1.0, 0.0});
  const auto unchecked = [&] {
    check.maps.clear();
    check_maps(check, report, 0, input_of(report, 1));
    return check.maps.at(0).unchecked_token;
  };
  EXPECT_EQ(unchecked(), std::nullopt);  // the predicted token, whose value is larger, does not count
  check.tokens.erase(check.tokens.begin() + 3);
  EXPECT_EQ(unchecked(), std::nullopt);  // left out to save time
  check.irreplaceable = {3};
  EXPECT_EQ(unchecked(), std::nullopt);  // ranked below
  report.rollout(0, 0, 3) = 0.035;
  EXPECT_EQ(unchecked(), 3U);

  report.settings.methods = {Method::kAttnLrp};
  report.scores = {{.method = Method::kAttnLrp, .values = Tensor<double>({1, 6}, {0.0, 0.0, 0.2, -0.5, 0.1, 0.0})}};
  EXPECT_EQ(unchecked(), std::nullopt);  // speaks against
  report.scores[0].values(0, 3) = 0.5;
  EXPECT_EQ(unchecked(), 3U);
}

// Without relevance, only rollout onto the token itself remains, which ranks nothing.
TEST(CheckMaps, LeavesOutARowThatCarriesNothing) {
  Report report = sample();
  report.settings.mixing = Mixing::kRelevance;
  report.settings.methods = {Method::kRaw, Method::kRollout};
  report.raw = Tensor<double>({1, 1, 6}, {0.0, 0.0, 0.1, 0.0, 0.0, 0.0});
  ReportCheck check = check_of({0.0, 4.0, 1.0, 2.0, 3.0, 0.0});
  check_maps(check, report, 0, input_of(report));
  EXPECT_EQ(check.maps.size(), 2U);
  check.maps.clear();
  report.raw(0, 0, 2) = 0.0;
  check_maps(check, report, 0, input_of(report));
  EXPECT_TRUE(check.maps.empty());
}

TEST(ChosenTokens, BeginWithTheFirstOfEachMap) {
  const Report report = sample();
  const std::vector<std::size_t> compared = compared_tokens(report, input_of(report));
  EXPECT_EQ(compared, (std::vector<std::size_t>{1, 2, 3, 4}));
  EXPECT_EQ(chosen_tokens(report, 0, compared, 4), compared);
  EXPECT_EQ(chosen_tokens(report, 0, compared, 2), (std::vector<std::size_t>{1, 2}));

  Report longer = sample();
  longer.input.tokens.resize(40);
  longer.rollout = Tensor<double>({1, 1, 40});
  for (std::size_t t = 0; t < 40; ++t) longer.rollout(0, 0, t) = t >= 30 && t < 35 ? 1.0 : 0.001;
  std::vector<std::size_t> all(40);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::vector<std::size_t> chosen = chosen_tokens(longer, 0, all, 12);
  EXPECT_EQ(chosen.size(), 12U);
  EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
  for (std::size_t t = 30; t < 35; ++t) EXPECT_TRUE(std::binary_search(chosen.begin(), chosen.end(), t)) << t;
  EXPECT_EQ(chosen, chosen_tokens(longer, 0, all, 12));
}

TEST(BlankOut, ScoresAreDrops) {
  const BlankOut found{.value = 5.0, .blanked = {-90.0, 1.0, 8.0}};
  EXPECT_EQ(found.scores(), (std::vector<double>{95.0, 4.0, -3.0}));
}

}  // namespace
}  // namespace attnflow::check_maps_test
