#include "attnflow/report/report_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace attnflow::report_text_test {
namespace {

TEST(ReportText, IsolatesWordsButNotThePunctuationOfTheSentence) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(internal::wrapped_lines("first, '\u05D0\u05D1', lowers", 80, "..."),
            Lines{"first, '\u2068\u05D0\u05D1\u2069', lowers"});
  EXPECT_EQ(internal::wrapped_lines("\u05D0 \u05D1", 80, "..."), Lines{"\u2068\u05D0\u2069 \u2068\u05D1\u2069"});
  EXPECT_EQ(internal::wrapped_lines("a-\u05D0b, \u0394", 80, "..."), Lines{"a-\u2068\u05D0\u2069b, \u0394"});
  // Lines after the first are indented.
  EXPECT_EQ(internal::wrapped_lines("one two three", 8, "..."), (Lines{"one two", "  three"}));
}

}  // namespace
}  // namespace attnflow::report_text_test
