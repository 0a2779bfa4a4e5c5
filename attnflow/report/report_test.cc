#include "attnflow/report/report.h"

#include <gtest/gtest.h>

namespace attnflow::report_test {
namespace {

TEST(Report, FindsLayersAndRowsByTheirNumbers) {
  Report report;
  report.settings.layers = {2, 4, 6};
  EXPECT_EQ(layer_index(report, 2), 0U);
  EXPECT_EQ(layer_index(report, 6), 2U);
  EXPECT_EQ(layer_index(report, 3), std::nullopt);
  EXPECT_EQ(row_index({0, 5, 9}, 9), 2U);
  EXPECT_EQ(row_index({0, 5, 9}, 1), std::nullopt);
  EXPECT_EQ(row_index({}, 0), std::nullopt);
}

TEST(Report, MethodsNameTheirArraysAndRows) {
  Report report;
  EXPECT_EQ(method_values(report, Method::kRaw).values, &report.raw);
  EXPECT_EQ(method_values(report, Method::kRaw).output_tokens, &report.output_tokens);
  EXPECT_EQ(method_values(report, Method::kRollout).values, &report.rollout);
  EXPECT_EQ(method_values(report, Method::kRollout).output_tokens, &report.output_tokens);
  EXPECT_EQ(method_values(report, Method::kFlow).values, &report.flow);
  EXPECT_EQ(method_values(report, Method::kFlow).output_tokens, &report.flow_output_tokens);
}

TEST(Report, ShowsTheUsersOwnCharacters) {
  Report report;
  report.input.text = "The CABINETS \xf0\x9f\x98\x80";
  report.input.text_pair = "Zweiter";
  report.input.tokens = {{"[CLS]", {}, {}, false, {}, 0},  {"cabin", 4, 9, false, {}, 0},
                         {"##ets", 9, 12, false, {}, 0},   {"[UNK]", 13, 17, false, {}, 0},
                         {"zweiter", 0, 7, false, {}, 1},  {"empty", 3, 3, false, {}, 0},
                         {"outside", 5, 99, false, {}, 0}, {"", {}, {}, false, {}, 0}};
  const std::vector<std::string> shown = {"[CLS]",   "CABIN", "ETS",     "\xf0\x9f\x98\x80",
                                          "Zweiter", "empty", "outside", ""};
  for (std::size_t t = 0; t < shown.size(); ++t) EXPECT_EQ(display_text(report.input, t), shown[t]);
}

}  // namespace
}  // namespace attnflow::report_test
