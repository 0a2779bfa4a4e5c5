#include "attnflow/unicode/display_width.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cwchar>
#include <string>

#include "attnflow/unicode/unicode.h"

namespace attnflow::display_width_test {
namespace {

TEST(DisplayWidth, Cells) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("cabinets"), 8U);
  EXPECT_EQ(display_width("caf\u00E9"), 4U);
  EXPECT_EQ(display_width("cafe\u0301"), 4U);          // combining acute
  EXPECT_EQ(display_width("\u4E2D\u6587"), 4U);        // Chinese
  EXPECT_EQ(display_width("\u304B\u3099"), 2U);        // kana with combining voicing mark
  EXPECT_EQ(display_width("\uD55C\uAE00"), 4U);        // Hangul syllables
  EXPECT_EQ(display_width("\u1112\u1161\u11AB"), 2U);  // the same syllable in three parts
  EXPECT_EQ(display_width("\uFF21\uFF71"), 3U);        // full-width A, half-width katakana
  EXPECT_EQ(display_width("\u0645\u0631\u062D\u0628\u0627"), 5U);
  EXPECT_EQ(display_width("\u0645\u064E"), 1U);  // Arabic with a vowel mark
  EXPECT_EQ(display_width("\u0E01\u0E33"), 2U);  // Thai
  EXPECT_EQ(display_width("a\u200Bb"), 2U);      // zero-width space
  EXPECT_EQ(display_width("\u2068x\u2069"), 1U);
}

TEST(DisplayWidth, Emoji) {
  EXPECT_EQ(display_width("\U0001F600"), 2U);
  EXPECT_EQ(display_width("\u2764"), 1U);                                      // text heart
  EXPECT_EQ(display_width("\u2764\uFE0F"), 2U);                                // emoji heart
  EXPECT_EQ(display_width("\U0001F44D\U0001F3FD"), 2U);                        // thumb with skin tone
  EXPECT_EQ(display_width("\U0001F468\u200D\U0001F469\u200D\U0001F467"), 2U);  // family
  EXPECT_EQ(display_width("\U0001F1E9\U0001F1EA"), 2U);                        // flag
  EXPECT_EQ(display_width("\U0001F1E9\U0001F1EA\U0001F1EB\U0001F1F7"), 4U);    // two flags
  EXPECT_EQ(display_width("\U0001F3F3\uFE0F\u200D\U0001F308"), 2U);            // rainbow flag
}

TEST(DisplayWidth, GraphemesOfSeveralCharacters) {
  EXPECT_EQ(display_width("1\uFE0F\u20E3"), 2U);                             // keycap
  EXPECT_EQ(display_width("\u261D\U0001F3FD"), 2U);                          // text sign with skin tone
  EXPECT_EQ(display_width("a\U0001F3FD"), 3U);                               // a skin tone without an emoji
  EXPECT_EQ(display_width("a\u200D\U0001F469"), 3U);                         // not an emoji to join
  EXPECT_EQ(display_width("\U0001F1E9"), 1U);                                // half a flag
  EXPECT_EQ(display_width("\U0001F3F4\U000E0067\U000E0062\U000E007F"), 2U);  // flag with tags
  EXPECT_EQ(display_width("\u0928\u093F"), 2U);                              // Devanagari with spacing vowel sign
  EXPECT_EQ(display_width("\u0928\u0941"), 1U);                              // ... and with one below
  EXPECT_EQ(display_width("\uFF76\uFF9E"), 2U);                              // half-width ga
  EXPECT_EQ(display_width("\u1112\u1161\u11AB\u1100\u1173\u11AF"), 4U);      // two syllables in parts
  EXPECT_EQ(display_width("\U0002FFFD\U0003FFFD"), 4U);                      // reserved for ideographs
  EXPECT_EQ(display_width("\n\u007F\u0085"), 3U);                            // as clean_line shows them
  EXPECT_EQ(display_width("\xFF"), 1U);
}

// The C library has its own tables, with other rules in a few blocks and from another version of Unicode.
TEST(DisplayWidth, AgreesWithTheCLibrary) {
  const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  ASSERT_NE(locale, locale_t{}) << "the C library has no C.UTF-8";
  const locale_t before = uselocale(locale);
  std::size_t compared = 0;
  std::size_t different = 0;
  for (char32_t c = 0x20; c < 0x110000; ++c) {
    const bool hangul_parts = (c >= 0x1160 && c <= 0x11FF) || (c >= 0xD7B0 && c <= 0xD7FB);  // zero-width there
    const bool hexagrams = c >= 0x4DC0 && c <= 0x4DFF;  // wide since Unicode 16, and earlier in glibc
    if (!is_scalar_value(c) || hangul_parts || hexagrams) continue;
    const int width = wcwidth(static_cast<wchar_t>(c));
    if (width < 0) continue;  // not printable, or unknown
    std::string text;
    append_utf8(text, c);
    ++compared;
    different += display_width(text) == static_cast<std::size_t>(width) ? 0 : 1;
  }
  uselocale(before);
  freelocale(locale);
  EXPECT_GT(compared, 250000U);
  EXPECT_LE(different, 100U);
}

TEST(CleanLine, NothingMovesTheCursorOrTheText) {
  EXPECT_EQ(clean_line("plain caf\u00E9 \u4E2D"), "plain caf\u00E9 \u4E2D");
  EXPECT_EQ(clean_line("a\nb\tc\x1b[2J\x7f"), "a\u240Ab\u2409c\u241B[2J\u2421");
  EXPECT_EQ(clean_line(std::string_view("\0", 1)), "\u2400");
  EXPECT_EQ(clean_line("\u0085\u009B"), "\uFFFD\uFFFD");
  EXPECT_EQ(clean_line("a\u202Eb\u2066c\u200F"), "a\uFFFDb\uFFFDc\uFFFD");
  EXPECT_EQ(clean_line("\u2028"), "\uFFFD");
  EXPECT_EQ(clean_line("\xff\xe4\xb8"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(clean_line("\U0001F468\u200D\U0001F469"), "\U0001F468\u200D\U0001F469");
}

TEST(Shorten, CutsBetweenClusters) {
  EXPECT_EQ(shorten("cabinets", 8, "\u2026"), "cabinets");
  EXPECT_EQ(shorten("cabinets", 7, "\u2026"), "cabine\u2026");
  EXPECT_EQ(shorten("cabinets", 7, "..."), "cabi...");
  EXPECT_EQ(shorten("\u4E2D\u6587\u5B57", 5, "\u2026"), "\u4E2D\u6587\u2026");
  EXPECT_EQ(shorten("\u4E2D\u6587\u5B57", 4, "\u2026"), "\u4E2D\u2026");
  EXPECT_EQ(shorten("ae\u0301iou", 3, "\u2026"), "ae\u0301\u2026");
  EXPECT_EQ(shorten("x\U0001F468\u200D\U0001F469yz", 4, "\u2026"), "x\U0001F468\u200D\U0001F469\u2026");
  EXPECT_EQ(shorten("cabinets", 1, "\u2026"), "\u2026");
  EXPECT_EQ(shorten("cabinets", 2, "..."), "..");
}

TEST(FitToCells, AlwaysTakesThatManyCells) {
  for (const char* const text :
       {"", "a", "cabinets", "\u4E2D\u6587\u5B57\u7B26", "\u0645\u0631\u062D\u0628\u0627", "e\u0301\u4E2D",
        "\U0001F600\U0001F600\U0001F600", "\U0001F1E9\U0001F1EA", "\u05E9\u05DC\u05D5\u05DD abc"}) {
    for (std::size_t cells = 1; cells < 12; ++cells) {
      EXPECT_EQ(display_width(fit_to_cells(text, cells, "\u2026")), cells) << text;
      EXPECT_EQ(display_width(fit_to_cells(text, cells, "...")), cells) << text;
    }
  }
  EXPECT_EQ(fit_to_cells("ab", 4, "\u2026"), "ab  ");
}

TEST(FitToCells, RightToLeftTextIsIsolated) {
  EXPECT_TRUE(runs_right_to_left("\u05E9\u05DC\u05D5\u05DD"));
  EXPECT_TRUE(runs_right_to_left("x\u0645"));
  EXPECT_TRUE(runs_right_to_left("\u0663"));  // an Arabic digit reverses the space that follows it
  EXPECT_FALSE(runs_right_to_left("abc \u4E2D \u0394"));
  EXPECT_EQ(fit_to_cells("\u05D0\u05D1", 4, "\u2026"), "\u2068\u05D0\u05D1\u2069  ");
}

}  // namespace
}  // namespace attnflow::display_width_test
