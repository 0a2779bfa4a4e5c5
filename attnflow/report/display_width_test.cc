#include "attnflow/report/display_width.h"

#include <gtest/gtest.h>

#include <iterator>

#include "attnflow/report/display_width_table.h"

namespace attnflow {
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

TEST(DisplayWidth, TablesAreSortedAndDisjoint) {
  const auto check = [](const auto& table) {
    for (std::size_t i = 0; i < std::size(table); ++i) {
      EXPECT_LE(table[i].first, table[i].last);
      if (i != 0) {
        EXPECT_LT(table[i - 1].last, table[i].first);
      }
    }
  };
  check(internal::kZeroWidth);
  check(internal::kWide);
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
  EXPECT_FALSE(runs_right_to_left("abc \u4E2D \u0394"));
  EXPECT_EQ(fit_to_cells("\u05D0\u05D1", 4, "\u2026"), "\u2068\u05D0\u05D1\u2069  ");
}

}  // namespace
}  // namespace attnflow
