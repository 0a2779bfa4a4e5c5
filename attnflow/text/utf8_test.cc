#include "attnflow/text/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <vector>

namespace attnflow {
namespace {

// The textbook encoder, without any checks: what is not a character comes out as malformed UTF-8.
std::string encode(std::uint32_t code) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(static_cast<unsigned char>(value)); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  if (code < 0x10000) return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)), byte(0x80 | (code >> 6 & 0x3F)),
          byte(0x80 | (code & 0x3F))};
}

TEST(Utf8, EveryCharacterIsAcceptedAndEverySurrogateRefused) {
  for (std::uint32_t code = 0; code < 0x120000; ++code) {
    const bool character = code < 0xD800 || (code > 0xDFFF && code < 0x110000);
    ASSERT_EQ(find_invalid_utf8(encode(code)), character ? std::nullopt : std::optional<std::size_t>(0)) << code;
  }
}

TEST(Utf8, MalformedSequencesAreFoundAtTheirFirstByte) {
  using namespace std::string_literals;
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("a\0b"s), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("ab\xff"), 2U);
  EXPECT_EQ(find_invalid_utf8("é\x80"), 2U);             // a continuation without a start
  EXPECT_EQ(find_invalid_utf8("a\xC3"), 1U);             // cut off
  EXPECT_EQ(find_invalid_utf8("a\xF0\x9F\x98"), 1U);     // cut off
  EXPECT_EQ(find_invalid_utf8("a\xF0\x9F\x98z"), 1U);    // interrupted
  EXPECT_EQ(find_invalid_utf8("\xC0\xAF"), 0U);          // overlong "/"
  EXPECT_EQ(find_invalid_utf8("\xE0\x80\xAF"), 0U);      // overlong "/"
  EXPECT_EQ(find_invalid_utf8("\xF0\x80\x80\xAF"), 0U);  // overlong "/"
}

TEST(Utf8, ConcatenationsAreJudgedAtTheFirstBadPart) {
  EXPECT_TRUE(rc::check([] {
    const auto codes = *rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 0xD800));
    std::string text;
    for (const std::uint32_t code : codes) text += encode(code);
    RC_ASSERT(!find_invalid_utf8(text));
    const std::size_t length = text.size();
    RC_ASSERT(find_invalid_utf8(text + "\xED\xA0\x80" + text) == length);
  }));
}

}  // namespace
}  // namespace attnflow
