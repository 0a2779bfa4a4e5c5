#include "attnflow/report/report_csv.h"

#include <gtest/gtest.h>

#include <charconv>
#include <limits>
#include <string>
#include <vector>

#include "attnflow/base/text_for_test.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/report/csv_for_test.h"
#include "attnflow/report/report_for_test.h"

namespace attnflow::report_csv_test {
namespace {

using test::get;
using test::parse_csv;
using test::Rows;
using test::small_report;
using test::TempFolder;

std::string csv(const Report& report) {
  std::string text;
  report_to_csv(report, [&](std::string_view piece) { text += piece; });
  return text;
}

double number(const std::string& text) {
  double value = std::numeric_limits<double>::quiet_NaN();
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  EXPECT_EQ(result.ptr, text.data() + text.size()) << text;
  return value;
}

TEST(ReportCsv, OneOutputToken) {
  Report report = small_report();
  report.output_token = 2;
  const Rows rows = parse_csv(csv(report));
  ASSERT_EQ(rows.size(), 1U + 2 * 4);
  EXPECT_EQ(rows[0],
            (std::vector<std::string>{"layer", "output_token", "output_text", "input_token", "input_text",
                                      "input_special", "raw", "rollout", "flow", "flow_gap", "flow_degenerate"}));
  for (std::size_t l = 0; l < 2; ++l) {
    for (std::size_t j = 0; j < 4; ++j) {
      const std::vector<std::string>& row = rows[1 + 4 * l + j];
      EXPECT_EQ(row[0], std::to_string(l + 1));
      EXPECT_EQ(row[1], "2");
      EXPECT_EQ(row[2], "cats");
      EXPECT_EQ(row[3], std::to_string(j));
      EXPECT_EQ(row[5], j == 0 || j == 3 ? "1" : "0");
      EXPECT_EQ(number(row[6]), report.raw(l, 2, j));
      EXPECT_EQ(number(row[7]), report.rollout(l, 2, j));
      EXPECT_EQ(number(row[8]), report.flow(l, 1, j));
      EXPECT_EQ(number(row[9]), report.flow_gap(l, 1, j));
      EXPECT_EQ(number(row[10]), report.flow_degenerate(l, 1, j));
    }
  }
  EXPECT_EQ(rows[1][4], "[CLS]");
  EXPECT_EQ(rows[2][4], "The");  // the user's characters
}

TEST(ReportCsv, AllOutputTokensWithEmptyFlowCells) {
  Report report = small_report();
  report.all_output_tokens = true;
  const Rows rows = parse_csv(csv(report));
  ASSERT_EQ(rows.size(), 1U + 2 * 4 * 4);
  const std::vector<std::string>& without = rows[1 + 4];  // layer 1, output token 1
  EXPECT_EQ(without[1], "1");
  EXPECT_EQ(number(without[6]), report.raw(0, 1, 0));
  EXPECT_EQ(without[8], "");
  EXPECT_EQ(without[9], "");
  EXPECT_EQ(without[10], "");
  EXPECT_EQ(number(rows[1 + 8][8]), report.flow(0, 1, 0));
}

TEST(ReportCsv, OnlyTheColumnsOfMethodsThatAreThere) {
  Report report = small_report();
  report.raw = {};
  report.flow = report.flow_gap = {};
  report.flow_degenerate = {};
  EXPECT_EQ(parse_csv(csv(report))[0], (std::vector<std::string>{"layer", "output_token", "output_text", "input_token",
                                                                 "input_text", "input_special", "rollout"}));
  report = small_report();
  report.raw = report.rollout = {};
  report.output_tokens = {};
  report.all_output_tokens = true;
  const Rows rows = parse_csv(csv(report));
  ASSERT_EQ(rows.size(), 1U + 2 * 2 * 4);
  EXPECT_EQ(number(rows[1][6]), report.flow(0, 0, 0));
}

TEST(ReportCsv, TextSurvives) {
  Report report = small_report();
  const std::vector<std::string> texts = {"a,b", "say \"hi\"", "two\r\nlines", " spaces "};
  for (std::size_t i = 0; i < 4; ++i) {
    report.input.tokens[i].text = texts[i];
    report.input.tokens[i].begin = report.input.tokens[i].end = {};
  }
  const Rows rows = parse_csv(csv(report));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(rows[1 + i][4], texts[i]);
  test::expect_parts(csv(report), {"\"say \"\"hi\"\"\""});
}

TEST(ReportCsv, NumbersReadBackExactlyAndShort) {
  Report report = small_report();
  report.raw(0, 0, 0) = 0.1;
  report.raw(0, 0, 1) = 1.0 / 3.0;
  report.raw(0, 0, 2) = 5e-324;
  report.raw(0, 0, 3) = 0.0;
  const Rows rows = parse_csv(csv(report));
  EXPECT_EQ(rows[1][6], "0.1");
  EXPECT_EQ(number(rows[2][6]), 1.0 / 3.0);
  EXPECT_EQ(rows[3][6], "5e-324");
  EXPECT_EQ(number(rows[4][6]), 0.0);
}

TEST(ReportCsv, Files) {
  const TempFolder folder;
  write_report_csv(folder / "a.csv", small_report());
  EXPECT_EQ(get(folder / "a.csv"), csv(small_report()));
  test::expect_error(ErrorKind::kOther, {"none/a.csv", "there is no folder"},
                     [&] { write_report_csv(folder / "none/a.csv", small_report()); });
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a.csv"});
}

}  // namespace
}  // namespace attnflow::report_csv_test
