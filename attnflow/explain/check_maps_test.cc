#include "attnflow/explain/check_maps.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "attnflow/attribution/query.h"
#include "attnflow/report/report.h"

namespace attnflow::blank_out_agreement_test {
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

BlankedInput input_of(const Report& report, std::optional<std::size_t> position = {}) {
  return {.quantity = "logit of yes",
          .blank = "[UNK]",
          .position = position,
          .groups = single_tokens(report.input.tokens.size())};
}

TEST(ReportCheck, RanksByTheSizeOfTheDropAndLeavesOutSpecialTokens) {
  const Report report = sample();
  // The words' drops are 4, -3, 2 and 1; special tokens' are much larger.
  const BlankOut found{.value = 5.0, .blanked = {-90.0, 1.0, 8.0, 3.0, 4.0, -80.0}};
  EXPECT_EQ(found.scores(), (std::vector<double>{95.0, 4.0, -3.0, 2.0, 1.0, 85.0}));
  const ReportCheck agreement = check_maps(report, 0, found, input_of(report));
  EXPECT_EQ(agreement.quantity, "logit of yes");
  EXPECT_EQ(agreement.blank, "[UNK]");
  EXPECT_EQ(agreement.value, 5.0);
  ASSERT_EQ(agreement.maps.size(), 1U);
  const MapCheck& map = agreement.maps[0];
  EXPECT_EQ(map.rank_correlation, 1.0);
  EXPECT_EQ(map.layer, 1U);
  EXPECT_EQ(map.first_token, 1U);
  EXPECT_EQ(map.blanked_value, 1.0);
  EXPECT_EQ(map.decisive_token, 1U);
}

TEST(ReportCheck, LeavesOutTheMaskThatIsPredicted) {
  const Report report = sample();
  const BlankOut found{.value = 5.0, .blanked = {5.0, -90.0, 4.0, 3.0, 2.0, 5.0}};
  const ReportCheck agreement = check_maps(report, 0, found, input_of(report, 1));
  ASSERT_EQ(agreement.maps.size(), 1U);
  EXPECT_EQ(agreement.maps[0].first_token, 2U);
  EXPECT_EQ(agreement.maps[0].decisive_token, 4U);
  EXPECT_EQ(agreement.maps[0].rank_correlation, -1.0);
}

// Without relevance, only rollout onto the token itself remains, which ranks nothing.
TEST(ReportCheck, LeavesOutARowThatCarriesNothing) {
  Report report = sample();
  report.settings.mixing = Mixing::kRelevance;
  report.settings.methods = {Method::kRaw, Method::kRollout};
  report.raw = Tensor<double>({1, 1, 6}, {0.0, 0.0, 0.1, 0.0, 0.0, 0.0});
  const BlankOut found{.value = 5.0, .blanked = {5.0, 1.0, 4.0, 3.0, 2.0, 5.0}};
  EXPECT_EQ(check_maps(report, 0, found, input_of(report)).maps.size(), 2U);
  report.raw(0, 0, 2) = 0.0;
  EXPECT_TRUE(check_maps(report, 0, found, input_of(report)).maps.empty());
}

TEST(ReportCheckNote, SaysItInOneSentence) {
  const NoteValues values = {
      {"method", "rollout"}, {"layer", std::size_t{6}},        {"token", "Sara"},          {"before", 3.2},
      {"after", -1.1},       {"quantity", "logit difference"}, {"rank_correlation", 0.712}};
  EXPECT_EQ(Note(NoteCode::kReportCheck, values).text,
            "Blanking the token that rollout (layer 6) ranks first, 'Sara', lowers the logit difference from 3.2 to "
            "-1.1; rank correlation with blank-out 0.71.");
}

TEST(AgreementIsCheap, ForSmallModelsOnly) {
  EXPECT_TRUE(check_is_cheap(10'000'000, 32, 32));
  EXPECT_FALSE(check_is_cheap(7'000'000'000, 32, 32));
}

}  // namespace
}  // namespace attnflow::blank_out_agreement_test
