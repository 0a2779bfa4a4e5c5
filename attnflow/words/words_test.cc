
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnflow/words/lists.h"
#include "attnflow/words/numbers.h"
#include "attnflow/words/text_table.h"
#include "attnflow/words/wrap.h"

namespace attnflow::words_test {
namespace {

using namespace attnflow::internal;  // NOLINT(google-build-using-namespace): the module's whole interface
using Lines = std::vector<std::string>;

TEST(Numbers, TimesAreRoundOnes) {
  EXPECT_EQ(about_time(0.2), "1 second");
  EXPECT_EQ(about_time(20.4), "20 seconds");
  EXPECT_EQ(about_time(89.0), "89 seconds");
  EXPECT_EQ(about_time(130.0), "2 minutes");
  EXPECT_EQ(about_time(80.0 * 60.0), "80 minutes");
  EXPECT_EQ(about_time(100.0 * 60.0), "2 hours");
}

TEST(Numbers, SharesHaveOneForm) {
  EXPECT_EQ(percent(0.074), "7%");
  EXPECT_EQ(percent(0.074, 1), "7.4%");
  EXPECT_EQ(percent_of(1, 8), "12.5%");
  EXPECT_EQ(percent_range(0.07, 0.12), "7% to 12%");
  EXPECT_EQ(percent_range(0.071, 0.069), "7%");
}

TEST(Numbers, NothingThatIsThereLooksLikeNothing) {
  EXPECT_EQ(probability_percent(0.0), "0.0%");
  EXPECT_EQ(probability_percent(0.00001), "<0.01%");
  EXPECT_EQ(probability_percent(0.0005), "0.05%");
  EXPECT_EQ(probability_percent(0.5), "50.0%");
  EXPECT_EQ(share_percent(0.0), "0%");
  EXPECT_EQ(share_percent(0.004), "less than 1%");
  EXPECT_EQ(share_percent(0.996), "more than 99%");
  EXPECT_EQ(share_percent(1.0), "100%");
}

TEST(Numbers, CountsAndShortNumbers) {
  EXPECT_EQ(counted(1, "token"), "1 token");
  EXPECT_EQ(counted(0, "token"), "0 tokens");
  EXPECT_EQ(short_number(0.01234), "0.0123");
  EXPECT_EQ(short_number(1.0), "1");
  EXPECT_EQ(short_number(0.000012), "1.2e-05");
}

TEST(Lists, InSentences) {
  EXPECT_EQ(listed({"a"}), "a");
  EXPECT_EQ(listed({"a", "b"}), "a and b");
  EXPECT_EQ(listed({"a", "b", "c"}, "or"), "a, b or c");
  EXPECT_EQ(ranges({1, 2, 3, 6}, " to "), (Lines{"1 to 3", "6"}));
  EXPECT_EQ(ranges({}, "-"), Lines{});
  EXPECT_EQ(abridged({1, 2}), "1, 2");
  EXPECT_EQ(abridged({1, 2, 3, 4, 5, 6, 7, 8, 9, 30}), "1, 2, 3, 4, 5, 6, 7, 8, ... 30");
}

TEST(Wrap, BreaksAtSpaces) {
  EXPECT_EQ(wrapped_lines("one two three", 8), (Lines{"one two", "  three"}));
  EXPECT_EQ(paragraph("one two three", 8), "one two\nthree\n");
  EXPECT_EQ(paragraph("", 8), "\n");
  EXPECT_EQ(wrapped_lines("unbreakable", 8), Lines{"unb..."});
}

TEST(Wrap, IsolatesWordsThatRunFromRightToLeft) {
  EXPECT_EQ(wrapped_lines("first, '\u05D0\u05D1', lowers", 80), Lines{"first, '\u2068\u05D0\u05D1\u2069', lowers"});
  EXPECT_EQ(wrapped_lines("\u05D0 \u05D1", 80), Lines{"\u2068\u05D0\u2069 \u2068\u05D1\u2069"});
  EXPECT_EQ(wrapped_lines("a-\u05D0b, \u0394", 80), Lines{"a-\u2068\u05D0\u2069b, \u0394"});
}

TEST(TextTable, ColumnsThatDoNotFitFollowBelow) {
  TextTable table{{{"by", Align::kLeft}, {"one"}, {"two"}, {"why", Align::kLeft}}};
  table.rows = {{"flow", "1", "\u00B1.5", "x"}, {"raw", "10000", "", ""}};
  EXPECT_EQ(terminal_text(table, 80), "by      one  two  why\nflow      1  \u00B1.5  x\nraw   10000\n");
  EXPECT_EQ(terminal_text(table, 18),
            "by      one  two\nflow      1  \u00B1.5\nraw   10000\nby    why\nflow  x\nraw\n");
  EXPECT_EQ(terminal_text(table, 1), terminal_text(table, 11)) << "at least one column beside the first";
  const TextTable untitled{{{"", Align::kLeft}, {""}}, {{"raw", "1"}}};
  EXPECT_EQ(terminal_text(untitled, 80), "raw  1\n");
}

TEST(TextTable, MarkdownEscapesTexts) {
  const TextTable table{{{"", Align::kLeft}, {"a|b"}}, {{"*x*", ""}}};
  EXPECT_EQ(markdown_text(table), "| | a\\|b |\n| --- | ---: |\n| \\*x\\* | |\n");
}

}  // namespace
}  // namespace attnflow::words_test
