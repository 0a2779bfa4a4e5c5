#include "attnflow/unicode/escape_text.h"

#include <gtest/gtest.h>

namespace attnflow::escape_text_test {
namespace {

TEST(EscapeText, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(escape_text("plain, größer, 漢字 👍"), "plain, größer, 漢字 👍");
  EXPECT_EQ(escape_text("a\x1b[31m\n\x7f"), R"(a\x1b[31m\x0a\x7f)");
  EXPECT_EQ(escape_text("one\ntwo\t", "\n"), "one\ntwo\\x09");
  EXPECT_EQ(escape_text("\xff\xfe ok \xe2\x82"), R"(\xff\xfe ok \xe2\x82)");
  EXPECT_EQ(escape_text("left\u202Eright"), R"(left\xe2\x80\xaeright)");
  EXPECT_EQ(escape_text(std::string_view("a\0b", 3)), R"(a\x00b)");
}

}  // namespace
}  // namespace attnflow::escape_text_test
