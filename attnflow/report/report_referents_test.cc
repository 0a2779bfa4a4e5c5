#include "attnflow/report/report_referents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnflow/base/text_for_test.h"
#include "attnflow/report/report_for_test.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_table.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow::internal::report_referents_test {
namespace {

using nlohmann::json;

// "The" and "cats", from "cats" in place of a mask.
Report report_with_referents() {
  Report report = test::small_report();
  report.output_token = 2;
  report.referents = {{"The", {1}}, {"cats", {2}}};
  report.predictions = {{"masked", 2, {{"he", 0.5}}, {{"his", 0.03}, {"her", 0.01}}}};
  return report;
}

TEST(ReferentWeights, AreTheOutputTokensValuesAndTheirShares) {
  const Report report = report_with_referents();
  const std::vector<ReferentWeights> weights = referent_weights(report, 2);
  ASSERT_EQ(weights.size(), 3U);
  for (const ReferentWeights& method : weights) {
    const MethodValues values = method_values(report, method.method);
    const std::size_t row = *row_index(*values.output_tokens, 2);
    ASSERT_EQ(method.layers.size(), 2U);
    for (std::size_t l = 0; l < 2; ++l) {
      const double first = (*values.values)(l, row, 1);
      const double second = (*values.values)(l, row, 2);
      ASSERT_EQ(method.layers[l].size(), 2U);
      EXPECT_EQ(method.layers[l][0].value, first);
      EXPECT_EQ(method.layers[l][1].value, second);
      EXPECT_DOUBLE_EQ(method.layers[l][0].share.value(), first / (first + second));
      EXPECT_DOUBLE_EQ(method.layers[l][0].share.value() + method.layers[l][1].share.value(), 1.0);
      EXPECT_EQ(method.layers[l][0].degenerate, 0);
    }
  }
  EXPECT_EQ(referent_weights(report, 1).size(), 2U);
  EXPECT_TRUE(referent_weights(test::small_report(), 2).empty());
}

TEST(ReferentWeights, PiecesAddUpButNotForFlow) {
  Report report = report_with_referents();
  report.referents = {{"The cats", {1, 2}}, {"[CLS]", {0}}};
  const std::vector<ReferentWeights> weights = referent_weights(report, 2);
  ASSERT_EQ(weights.size(), 2U);
  EXPECT_EQ(weights[0].method, Method::kRaw);
  EXPECT_EQ(weights[1].method, Method::kRollout);
  EXPECT_DOUBLE_EQ(weights[0].layers[1][0].value, report.raw(1, 2, 1) + report.raw(1, 2, 2));
}

TEST(ReferentWeights, NothingToShareHasNoShares) {
  Report report = report_with_referents();
  report.raw(0, 2, 1) = report.raw(0, 2, 2) = 0.0;
  report.rollout(1, 2, 1) = std::numeric_limits<double>::quiet_NaN();
  const std::vector<ReferentWeights> weights = referent_weights(report, 2);
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_FALSE(weights[0].layers[0][r].share.has_value());
    EXPECT_TRUE(weights[0].layers[1][r].share.has_value());
    EXPECT_FALSE(weights[1].layers[1][r].share.has_value());
  }
  const std::string table = terminal_table(report);
  test::expect_no_parts(table, {"nan"});
}

TEST(Candidates, SharesAreAmongThoseAskedFor) {
  Report report = report_with_referents();
  const ReportPrediction* prediction = candidates_at(report, 2);
  ASSERT_NE(prediction, nullptr);
  const std::vector<double> shares = candidate_shares(*prediction);
  ASSERT_EQ(shares.size(), 2U);
  EXPECT_DOUBLE_EQ(shares[0], 0.75);
  EXPECT_DOUBLE_EQ(shares[1], 0.25);
  EXPECT_EQ(candidate_shares_line(report), "Among the candidates: his 75.0%, her 25.0%");
  EXPECT_EQ(candidates_at(report, 1), nullptr);
  report.predictions[0].candidates = {{"his", 0.0}, {"her", 0.0}};
  EXPECT_TRUE(candidate_shares(report.predictions[0]).empty());
  EXPECT_EQ(candidate_shares_line(report), "");
}

TEST(ReferentNames, TellEqualTextsApart) {
  Report report = test::small_report();
  report.referents = {{"cats", {1}}, {"cats", {2}}, {"The", {0}}, {"", {3}}};
  EXPECT_EQ(referent_names(report), (std::vector<std::string>{"cats (1)", "cats (2)", "The", "3"}));
}

TEST(ReferentTable, TerminalAndMarkdownShowEveryLayer) {
  const Report report = report_with_referents();
  const std::string table = terminal_table(report, {.width = 120});
  test::expect_parts(
      table, {"Weights of \"cats\" (position 2) on the referents\n", "Among the candidates: his 75.0%, her 25.0%\n"});
  // raw in layer 1 from token 2: 0.2 + 0.02 and 0.3 + 0.02.
  test::expect_parts(
      table, {"layer        raw: The       raw: cats    rollout: The   rollout: cats",
              "\n    1  0.2200 (40.7%)  0.3200 (59.3%)  0.1100 (40.7%)  0.1600 (59.3%)", "\n    2   1.220 (48.0%)"});
  const std::string markdown = markdown_table(report);
  test::expect_parts(markdown,
                     {"\n## Weights of \"cats\" (position 2) on the referents\n",
                      "| layer | raw: The | raw: cats | rollout: The |", "\n| 1 | 0.2200 (40.7%) | 0.3200 (59.3%) |"});
  test::expect_no_parts(terminal_table(test::small_report()), {"referents"});
  test::expect_no_parts(markdown_table(test::small_report()), {"referents"});
}

TEST(ReferentTable, FitsAnyWidth) {
  Report report = report_with_referents();
  report.flow_degenerate(1, 1, 1) = 1;
  report.referents = {{"The", {1}},
                      {"\u4E2D\u6587\u5B57\u7B26\u4E2D\u6587\u5B57\u7B26", {2}},
                      {"\u0645\u0631\u062D\u0628\u0627", {0}},
                      {"a-very-long-word-without-any-end", {3}}};
  for (std::size_t width = 40; width <= 200; width += 7) {
    std::size_t percents = 0;
    for (const std::string& line : test::lines_of(terminal_text(referent_table(report, {"\u2026", "\u00B0"}), width))) {
      EXPECT_LE(display_width(line), width) << line;
      percents += static_cast<std::size_t>(std::count(line.begin(), line.end(), '%'));
    }
    EXPECT_EQ(percents, 2U * 3U * 4U) << width;  // layers, methods, referents
  }
  test::expect_parts(terminal_table(report), {"\u00B0"});
}

TEST(ReferentJson, RoundTripAndAbsence) {
  const Report read = report_from_json(report_to_json(report_with_referents()));
  ASSERT_EQ(read.referents.size(), 2U);
  EXPECT_EQ(read.referents[0].text, "The");
  EXPECT_EQ(read.referents[0].tokens, (std::vector<std::size_t>{1}));
  EXPECT_EQ(read.referents[1].text, "cats");
  EXPECT_EQ(read.referents[1].tokens, (std::vector<std::size_t>{2}));
  const std::string without = report_to_json(test::small_report());
  test::expect_no_parts(without, {"referents"});
  EXPECT_TRUE(report_from_json(without).referents.empty());
}

TEST(ReferentJson, WrongFieldsAreRefusedByTheirPlace) {
  const Report good = report_with_referents();
  const auto expect_refused = [&](const char* pointer, const json& value, const char* place) {
    test::expect_field_refused(good, pointer, value, place);
  };
  expect_refused("/referents", 1, "referents");
  expect_refused("/referents/1", "cats", "referents[1]");
  expect_refused("/referents/1/text", 1, "referents[1].text");
  expect_refused("/referents/1/tokens", nullptr, "referents[1]");
  expect_refused("/referents/1/tokens", json::array(), "referents[1].tokens");
  expect_refused("/referents/1/tokens", {4}, "referents[1].tokens");
  expect_refused("/referents/1/tokens", {2, 1}, "referents[1].tokens");
}

}  // namespace
}  // namespace attnflow::internal::report_referents_test
