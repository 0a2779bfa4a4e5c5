#include "attnflow/report/report.h"

#include <gtest/gtest.h>

namespace attnflow::report_test {
namespace {

InputToken token(std::string text, std::optional<std::size_t> begin, std::optional<std::size_t> end,
                 std::size_t segment = 0) {
  InputToken result;
  result.text = std::move(text);
  result.begin = begin;
  result.end = end;
  result.segment = segment;
  return result;
}

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
  report.input.tokens = {
      token("[CLS]", std::nullopt, std::nullopt),
      token("cabin", 4, 9),
      token("##ets", 9, 12),
      token("[UNK]", 13, 17),
      token("zweiter", 0, 7, 1),
      token("empty", 3, 3),
      token("outside", 5, 99),
      token("", std::nullopt, std::nullopt),
  };
  EXPECT_EQ(display_text(report.input, 0), "[CLS]");
  EXPECT_EQ(display_text(report.input, 1), "CABIN");
  EXPECT_EQ(display_text(report.input, 2), "ETS");
  EXPECT_EQ(display_text(report.input, 3), "\xf0\x9f\x98\x80");
  EXPECT_EQ(display_text(report.input, 4), "Zweiter");
  EXPECT_EQ(display_text(report.input, 5), "empty");
  EXPECT_EQ(display_text(report.input, 6), "outside");
  EXPECT_EQ(display_text(report.input, 7), "");
}

}  // namespace
}  // namespace attnflow::report_test
