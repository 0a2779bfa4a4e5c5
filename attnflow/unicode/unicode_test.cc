#include "attnflow/unicode/unicode.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/base/error_for_test.h"

namespace attnflow::unicode_test {
namespace {

using namespace std::string_literals;

// The textbook encoder, without any checks: for an invalid code point, the result is malformed UTF-8.
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

TEST(Utf8, AUsersTextIsRefusedByNameAndPlace) {
  EXPECT_NO_THROW(check_utf8("", "text"));
  EXPECT_NO_THROW(check_utf8("caf\xC3\xA9", "text"));
  EXPECT_EQ(test::refusal(ErrorKind::kUsage, [] { check_utf8("caf\xE9 au lait", "second text"); }),
            "the second text must be UTF-8, found byte 0xE9 at offset 3, which is not; convert it to UTF-8 first");
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

TEST(Utf8, CodePointsComeBack) {
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    if (!is_scalar_value(code)) continue;
    std::string text;
    append_utf8(text, code);
    ASSERT_EQ(text, encode(code)) << code;
    std::size_t at = 0;
    ASSERT_EQ(next_code_point(text, at), char32_t{code}) << code;
    ASSERT_EQ(at, text.size()) << code;
  }
  EXPECT_EQ(decode_utf8("a\u00E9\u4E2D\U0001F600"), U"a\u00E9\u4E2D\U0001F600");
}

TEST(Utf8, EveryBadByteIsOneReplacementCharacter) {
  // Cut short, overlong, surrogate, beyond U+10FFFF, lone continuation.
  EXPECT_EQ(decode_utf8("\xE4\xB8"), U"\uFFFD\uFFFD");
  EXPECT_EQ(decode_utf8("\xC0\xAF"), U"\uFFFD\uFFFD");
  EXPECT_EQ(decode_utf8("\xED\xA0\x80"), U"\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(decode_utf8("\xF4\x90\x80\x80x"), U"\uFFFD\uFFFD\uFFFD\uFFFDx");
  EXPECT_EQ(decode_utf8("\x80"), U"\uFFFD");
  EXPECT_EQ(repair_utf8("a\xFFz\xE4\xB8"), "a\uFFFDz\uFFFD\uFFFD");
  EXPECT_EQ(repair_utf8("\xED\xA0\x80\u4E2D", "?"), "???\u4E2D");
  EXPECT_EQ(escape_invalid_utf8("a\xFFz\xE4\xB8"), "a\\xFFz\\xE4\\xB8");
  EXPECT_EQ(escape_invalid_utf8("\u4E2D"), "\u4E2D");
  EXPECT_EQ(map_code_points("ab\xFF", [](char32_t c) { return c == U'b' ? U'\u4E2D' : c; }), "a\u4E2D\uFFFD");
}

TEST(Utf8, WhatIsIncompleteIsTheBeginningOfSomeCharacter) {
  std::set<std::string> beginnings;
  for (std::uint32_t code = 0x80; code < 0x110000; ++code) {
    if (!is_scalar_value(code)) continue;
    const std::string whole = encode(code);
    for (std::size_t length = 1; length < whole.size(); ++length) beginnings.insert(whole.substr(0, length));
  }
  const auto expected = [&](const std::string& bytes) {
    for (std::size_t length = std::min<std::size_t>(bytes.size(), 3); length > 0; --length) {
      if (beginnings.count(bytes.substr(bytes.size() - length)) > 0) return length;
    }
    return std::size_t{0};
  };
  // All pairs of bytes, followed by those at which a rule of table 3-7 begins or ends.
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string two = {static_cast<char>(first), static_cast<char>(second)};
      ASSERT_EQ(incomplete_utf8(two), expected(two)) << first << ' ' << second;
      for (const int third :
           {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xED, 0xF0, 0xF4, 0xFF}) {
        const std::string three = two + static_cast<char>(third);
        ASSERT_EQ(incomplete_utf8(three), expected(three)) << first << ' ' << second << ' ' << third;
        ASSERT_EQ(incomplete_utf8("\u4E2D" + three), expected(three)) << first << ' ' << second << ' ' << third;
      }
    }
  }
  EXPECT_EQ(incomplete_utf8(""), 0U);
  EXPECT_EQ(incomplete_utf8("\U0001F600"), 0U);
}

TEST(Utf8, PlacesInsideACodePoint) {
  const std::string text = "a\u00E9\u4E2D\U0001F600";
  const std::set<std::size_t> begins = {0, 1, 3, 6, 10};
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    if (begins.count(at) > 0) begin = at;
    EXPECT_EQ(is_code_point_boundary(text, at), begin == at) << at;
    EXPECT_EQ(code_point_begin(text, at), begin) << at;
  }
  EXPECT_TRUE(is_code_point_boundary("", 0));
  EXPECT_EQ(code_point_begin("\x80\x80", 1), 0U);
}

// Checked by hand against UnicodeData.txt and PropList.txt.
TEST(CodePoints, Classes) {
  const auto expect_all = [](CharacterClass kind, std::u32string_view characters) {
    for (const char32_t c : characters) EXPECT_EQ(character_class(c), kind) << std::hex << std::uint32_t{c};
  };
  expect_all(CharacterClass::kLetter,
             U"aZ\u00AA\u00B5\u00E9\u01C5\u02B0\u0416\u05D0\u0639\u0915\u0E01\u4E2D\uAC00"
             U"\uFF21\U00010400\U00020000");
  expect_all(CharacterClass::kMark, U"\u0301\u0488\u064B\u093E\u094D\u0E31\u3099\uFE0F\U000E0100");
  expect_all(CharacterClass::kNumber, U"07\u00B2\u00BD\u0663\u096A\u2167\u2460\u3007\uFF15\U0001D7D8");
  expect_all(CharacterClass::kSpace, U" \t\n\v\f\r\u0085\u00A0\u1680\u2000\u200A\u2028\u2029\u202F\u205F\u3000");
  expect_all(CharacterClass::kOther,
             U"!_$+\u00AB\u00D7\u060C\u0964\u180E\u200B\u200D\u2014\u20AC\u2192\u3001\uFEFF"
             U"\uFFFD\U0001F600");
  expect_all(CharacterClass::kOther, std::u32string_view(U"\0\x1B\x7F\x9F\u0378\uE000\U0010FFFF", 7));
}

TEST(CodePoints, ControlsAndTheirPictures) {
  EXPECT_EQ(control_picture(U'\0'), U'\u2400');
  EXPECT_EQ(control_picture(U'\n'), U'\u240A');
  EXPECT_EQ(control_picture(U'\x1F'), U'\u241F');
  EXPECT_EQ(control_picture(U'\x7F'), U'\u2421');
  EXPECT_EQ(control_picture(U'\x80'), kReplacementCharacter);
  EXPECT_EQ(control_picture(U'\x9F'), kReplacementCharacter);
  for (const char32_t c : {U' ', U'~', U'\u00A0', U'\u2028', U'\u4E2D'}) {
    EXPECT_FALSE(is_control(c));
    EXPECT_EQ(control_picture(c), c);
  }
}

TEST(CodePoints, Direction) {
  for (const char32_t c : U"\u05D0\u0627\u0660\u07C0\u0710\u08A0\uFB1D\uFE8D\U00010800\U0001E900"s) {
    EXPECT_TRUE(is_right_to_left(c)) << std::hex << std::uint32_t{c};
  }
  for (const char32_t c : U"a0 .\u0394\u0416\u0915\u4E2D\u0301\U0001F600"s) {
    EXPECT_FALSE(is_right_to_left(c)) << std::hex << std::uint32_t{c};
  }
}

TEST(FoldCase, TextsThatDifferInCaseAloneAreOne) {
  for (const auto& [one, other] : std::vector<std::pair<const char*, const char*>>{
           {"Cabinets", "CABINETS"},
           {"Stra\u00DFe", "STRASSE"},
           {"M\u00C4RY", "m\u00E4ry"},
           {"M\u00C4RY", "ma\u0308ry"},  // composed or not
           {"\u0160\u010C", "\u0161\u010D"},
           {"\u039F\u0394\u039F\u03A3", "\u03BF\u03B4\u03BF\u03C2"},  // final sigma
           {"\u041A\u043B\u044E\u0447", "\u043A\u043B\u044E\u0447"},
           {"\u0531\u0562", "\u0561\u0562"},  // Armenian
           {"\U00010400", "\U00010428"}}) {   // Deseret
    EXPECT_EQ(fold_case(one), fold_case(other)) << one;
  }
  EXPECT_NE(fold_case("resume"), fold_case("r\u00E9sum\u00E9"));
  EXPECT_NE(fold_case("\u0131"), fold_case("i"));  // Turkish dotless i is a separate letter
  EXPECT_EQ(fold_case(""), "");
  EXPECT_EQ(fold_case("a\0B"s), "a\0b"s);
  EXPECT_EQ(fold_case("A\xFF"), "a\uFFFD");
}

// Lines as in GraphemeBreakTest.txt of the Unicode Character Database, version 15: all that go beyond its table of
// pairs, and one pair for each rule.
constexpr const char* kGraphemeBreaks[] = {
    "\u00F7 0020 \u00F7 0020 \u00F7",              // GB999
    "\u00F7 000D \u00D7 000A \u00F7",              // GB3
    "\u00F7 000D \u00F7 0308 \u00F7 000A \u00F7",  // GB4, GB5
    "\u00F7 1100 \u00D7 1160 \u00F7",              // GB6
    "\u00F7 AC00 \u00D7 11A8 \u00F7",              // GB7
    "\u00F7 AC01 \u00D7 11A8 \u00F7",              // GB8
    "\u00F7 11A8 \u00F7 1160 \u00F7",
    "\u00F7 0020 \u00D7 0300 \u00F7",    // GB9
    "\u00F7 0020 \u00D7 0903 \u00F7",    // GB9a
    "\u00F7 0600 \u00D7 0020 \u00F7",    // GB9b
    "\u00F7 1F1E6 \u00D7 1F1E6 \u00F7",  // GB12
    "\u00F7 0378 \u00F7 0378 \u00F7",
    "\u00F7 000D \u00D7 000A \u00F7 0061 \u00F7 000A \u00F7 0308 \u00F7",
    "\u00F7 0061 \u00D7 0308 \u00F7",
    "\u00F7 0020 \u00D7 200D \u00F7 0646 \u00F7",
    "\u00F7 0646 \u00D7 200D \u00F7 0020 \u00F7",
    "\u00F7 1100 \u00D7 1100 \u00F7",
    "\u00F7 AC00 \u00D7 11A8 \u00F7 1100 \u00F7",
    "\u00F7 AC01 \u00D7 11A8 \u00F7 1100 \u00F7",
    "\u00F7 1F1E6 \u00D7 1F1E7 \u00F7 1F1E8 \u00F7 0062 \u00F7",
    "\u00F7 0061 \u00F7 1F1E6 \u00D7 1F1E7 \u00F7 1F1E8 \u00F7 0062 \u00F7",
    "\u00F7 0061 \u00F7 1F1E6 \u00D7 1F1E7 \u00D7 200D \u00F7 1F1E8 \u00F7 0062 \u00F7",
    "\u00F7 0061 \u00F7 1F1E6 \u00D7 200D \u00F7 1F1E7 \u00D7 1F1E8 \u00F7 0062 \u00F7",
    "\u00F7 0061 \u00F7 1F1E6 \u00D7 1F1E7 \u00F7 1F1E8 \u00D7 1F1E9 \u00F7 0062 \u00F7",
    "\u00F7 0061 \u00D7 200D \u00F7",
    "\u00F7 0061 \u00D7 0308 \u00F7 0062 \u00F7",
    "\u00F7 0061 \u00D7 0903 \u00F7 0062 \u00F7",
    "\u00F7 0061 \u00F7 0600 \u00D7 0062 \u00F7",
    "\u00F7 1F476 \u00D7 1F3FF \u00F7 1F476 \u00F7",
    "\u00F7 0061 \u00D7 1F3FF \u00F7 1F476 \u00F7",
    "\u00F7 0061 \u00D7 1F3FF \u00F7 1F476 \u00D7 200D \u00D7 1F6D1 \u00F7",
    "\u00F7 1F476 \u00D7 1F3FF \u00D7 0308 \u00D7 200D \u00D7 1F476 \u00D7 1F3FF \u00F7",
    "\u00F7 1F6D1 \u00D7 200D \u00D7 1F6D1 \u00F7",
    "\u00F7 0061 \u00D7 200D \u00F7 1F6D1 \u00F7",
    "\u00F7 2701 \u00D7 200D \u00D7 2701 \u00F7",
    "\u00F7 0061 \u00D7 200D \u00F7 2701 \u00F7",
};

struct BreakLine {
  std::string text;
  std::set<std::size_t> breaks;  // byte offsets, both ends included
};

BreakLine parse(const std::string& line) {
  BreakLine parsed;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word == "\u00F7") {
      parsed.breaks.insert(parsed.text.size());
    } else if (word != "\u00D7") {
      parsed.text += encode(static_cast<std::uint32_t>(std::stoul(word, nullptr, 16)));
    }
  }
  return parsed;
}

std::set<std::size_t> breaks_of(const std::string& text) {
  std::set<std::size_t> breaks = {0};
  for (std::size_t at = 0; at < text.size();) breaks.insert(at = grapheme_end(text, at));
  return breaks;
}

TEST(Graphemes, UnicodesExamples) {
  for (const char* const line : kGraphemeBreaks) {
    const auto [text, breaks] = parse(line);
    EXPECT_EQ(breaks_of(text), breaks) << line;
    for (std::size_t at = 0; at <= text.size(); ++at) {
      EXPECT_EQ(is_grapheme_boundary(text, at), breaks.count(at) > 0) << line << ", byte " << at;
    }
  }
}

TEST(Graphemes, WhatReadersSeeAsOne) {
  for (const char* const one :
       {"a", "e\u0301", "\u0B95\u0BBF", "\uD55C", "\u1112\u1161\u11AB", "\U0001F469\u200D\U0001F52C",
        "\U0001F44D\U0001F3FD", "\U0001F1E9\U0001F1EA", "1\uFE0F\u20E3", "\U0001F3F3\uFE0F\u200D\U0001F308", "\xFF"}) {
    const std::string text = one;
    EXPECT_EQ(grapheme_end(text, 0), text.size()) << one;
    EXPECT_EQ(grapheme_end(text + "a", 0), text.size()) << one;
    EXPECT_EQ(grapheme_end("ab" + text + "a", 2), text.size() + 2) << one;
  }
}

TEST(Graphemes, ABoundaryIsTheSameFromBothSides) {
  const std::u32string classes =
      U"ab \r\n\u0300\u0308\u0600\u0903\u094D\u0915\u1100\u1160\u11A8\u200D\u2764\uAC00\uAC01\uFE0F"
      U"\U0001F1E6\U0001F1E7\U0001F3FD\U0001F469\U0001F6D1";
  EXPECT_TRUE(rc::check([&] {
    const auto places = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, classes.size()));
    std::string text;
    for (const std::size_t place : places) append_utf8(text, classes[place]);
    const std::set<std::size_t> breaks = breaks_of(text);
    for (std::size_t at = 0; at <= text.size(); ++at)
      RC_ASSERT(is_grapheme_boundary(text, at) == (breaks.count(at) > 0));
  }));
}

}  // namespace
}  // namespace attnflow::unicode_test
