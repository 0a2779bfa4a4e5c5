#include "attnflow/report/painted_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnflow/base/text_for_test.h"
#include "attnflow/report/report_for_test.h"
#include "attnflow/report/report_table.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow::internal::painted_text_test {
namespace {

std::string plain(std::string text) {
  for (std::size_t at = 0; (at = text.find('\x1b', at)) != std::string::npos;) {
    text.erase(at, text.find('m', at) - at + 1);
  }
  return text;
}

// "The unkindness", whose second word has three tokens.
Report pieces_report() {
  Report report = test::small_report();
  report.input.text = "The unkindness";
  report.input.tokens = {{"the", 0, 3, false, 0, 0},
                         {"un", 4, 6, false, 1, 0},
                         {"##kind", 6, 10, false, 1, 0},
                         {"##ness", 10, 14, false, 1, 0}};
  report.output_tokens = {0, 1, 2, 3};
  report.check =
      ReportCheck{.quantity = "logit",
                  .value = 3.0,
                  .tokens = {{.token = 0, .drop = 0.125}, {.token = 1, .drop = -12.5}, {.token = 2, .drop = 4.25}},
                  .maps = {}};
  return report;
}

std::vector<std::string> painted(const Report& report, const PaintOptions& options = {}) {
  std::vector<std::string> lines =
      painted_text(report, answer_row(report, Method::kRollout), &*report.check, options).value();
  for (std::string& line : lines) line = plain(line);
  return lines;
}

TEST(PaintedText, HasEachDropBelowItsTokenAndPiecesTouch) {
  EXPECT_EQ(painted(pieces_report()), (std::vector<std::string>{"The  un  kindness", "0.12 -12 4.2"}));
  EXPECT_EQ(painted(pieces_report(), {.width = 12}),
            (std::vector<std::string>{"The  un  ", "0.12 -12", "kindness", "4.2"}));
  const AnswerRow row = answer_row(pieces_report(), Method::kRollout);
  const auto without = painted_text(pieces_report(), row, nullptr, {});
  ASSERT_TRUE(without);
  EXPECT_EQ(plain(without->front()), "The unkindness");
}

TEST(PaintedText, LeavesOutTextsThatDoNotFitOrRunFromRightToLeft) {
  Report report = pieces_report();
  const AnswerRow row = answer_row(report, Method::kRollout);
  EXPECT_FALSE(painted_text(report, row, nullptr, {.lines = 0}));
  report.input.text = "\u0645\u0631\u062D\u0628\u0627";
  report.input.tokens = {
      {"x", 0, 2, false, 0, 0}, {"y", 2, 4, false, 0, 0}, {"z", 4, 8, false, 0, 0}, {"", {}, {}, false, {}, 0}};
  EXPECT_FALSE(painted_text(report, row, nullptr, {}));
}

TEST(PaintedText, IsColoredByTheScaleOfFigures) {
  const Report report = pieces_report();
  const AnswerRow row = answer_row(report, Method::kRollout);
  const std::string line = painted_text(report, row, nullptr, {.true_color = true}).value().front();
  EXPECT_NE(line.find("\x1b[38;2;255;255;255;48;2;8;48;107mness\x1b[0m"), std::string::npos) << line;
  const std::string few = painted_text(report, row, nullptr, {}).value().front();
  EXPECT_NE(few.find("\x1b[38;5;231;48;5;"), std::string::npos) << few;
  EXPECT_EQ(palette_color({0, 0, 0}), 16U);
  EXPECT_EQ(palette_color({255, 255, 255}), 231U);
  EXPECT_EQ(palette_color({0x5f, 0x87, 0xaf}), 67U);
  EXPECT_EQ(palette_color({0x80, 0x80, 0x80}), 244U);
}

TEST(PaintedText, FitsTheFirstScreenWithTheVerdicts) {
  constexpr std::size_t kTokens = 60;
  Report report = pieces_report();
  report.input.text.clear();
  report.input.tokens.assign(kTokens, {"token", {}, {}, false, {}, 0});
  report.output_tokens = {0};
  report.raw = report.flow = {};
  report.flow_output_tokens.clear();
  report.settings.methods = {Method::kRollout};
  report.rollout = Tensor<double>({2, 1, kTokens}, std::vector<double>(2 * kTokens, 0.125));
  report.check->tokens.clear();
  for (std::size_t j = 0; j < kTokens; ++j)
    report.check->tokens.push_back({.token = j, .drop = static_cast<double>(j)});
  report.check->maps = {{.method = Method::kRollout,
                         .layer = 2,
                         .rank_correlation = 0.2,
                         .compared = kTokens,
                         .first_token = 1,
                         .decisive_token = 59}};
  report.predictions = {{"classification", {}, {{"positive", 0.9}, {"negative", 0.1}}, {}}};
  const std::vector<std::string> lines = test::lines_of(plain(terminal_table(report, {.color = true})));
  std::size_t last = 0;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    EXPECT_LE(display_width(lines[l]), 80U);
    if (lines[l].starts_with("Don\u2019t rely on the order")) last = l;
  }
  EXPECT_GT(last, 10U);
  EXPECT_LT(last, 24U);
}

}  // namespace
}  // namespace attnflow::internal::painted_text_test
