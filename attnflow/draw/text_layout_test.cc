#include "attnflow/draw/text_layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "attnflow/unicode/unicode.h"

namespace attnflow::internal::text_layout_test {
namespace {

const TextStyle kStyle{.size = 12.0};

TEST(CleanText, KeepsWhatReadersSee) {
  EXPECT_EQ(clean_text("The key, ключ, 钥匙, المفتاح, 👩‍🔬 e\u0301"),
            "The key, ключ, 钥匙, المفتاح, 👩‍🔬 e\u0301");
}

TEST(CleanText, ReplacesWhatXmlCannotHold) {
  EXPECT_EQ(clean_text("a\tb\nc\r"), "a b c ");
  EXPECT_EQ(clean_text(std::string("\x01\x7f\0", 3)), "\u2401\u2421\u2400");
  EXPECT_EQ(clean_text("a\xff\xc3"), "a\uFFFD\uFFFD");
  EXPECT_EQ(clean_text("\xEF\xBF\xBE|\xC2\x85"), "\uFFFD|\uFFFD");  // U+FFFE and a C1 control
  EXPECT_EQ(clean_text("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");      // a surrogate
}

RC_GTEST_PROP(CleanText, IsAlwaysUtf8, (const std::string& bytes)) {
  const std::string clean = clean_text(bytes);
  for (std::size_t at = 0; at < clean.size();) {
    const auto code = next_code_point(clean, at);
    RC_ASSERT(code.has_value());
    RC_ASSERT(*code >= 0x20u && *code != 0x7Fu && *code != 0xFFFEu && *code != 0xFFFFu);
  }
  RC_ASSERT(clean_text(clean) == clean);
}

TEST(LanguageOf, FollowsTheScript) {
  EXPECT_EQ(language_of("The key"), "en");
  EXPECT_EQ(language_of("钥匙在桌子上"), "zh-cn");
  EXPECT_EQ(language_of("鍵はテーブルの上"), "ja");
  EXPECT_EQ(language_of("열쇠 鍵"), "ko");
}

TEST(ShapedTogether, JoinedLettersMarksAndEmojiSequences) {
  const auto together = [](const std::string& left, const std::string& right) {
    return shaped_together(left + right, left.size());
  };
  EXPECT_TRUE(together("الكتاب", "ة"));
  EXPECT_TRUE(together("e", "\u0301"));
  EXPECT_TRUE(together("👩\u200d", "🔬"));
  EXPECT_TRUE(together("می\u200d", "خواهم"));
  EXPECT_TRUE(together("👍", "🏽"));
  EXPECT_TRUE(together("🇩", "🇪"));
  EXPECT_FALSE(together("🇩🇪", "🇫🇷"));
  EXPECT_TRUE(together("🇩🇪🇫", "🇷"));
  EXPECT_FALSE(together("cabin", "ets"));
  EXPECT_FALSE(together("桌", "子"));
  EXPECT_FALSE(together("الكتاب", ","));
  EXPECT_FALSE(together("", "a"));
  EXPECT_FALSE(together("a", ""));
}

TEST(TextMeasurer, WidthGrowsWithTextAndSize) {
  const TextMeasurer measure("en");
  const double one = measure.width("key", kStyle);
  EXPECT_GT(one, 5.0);
  EXPECT_GT(measure.width("keys", kStyle), one);
  EXPECT_NEAR(measure.width("key", {.size = 24.0}), 2.0 * one, 0.1);  // no hinting: widths scale
  EXPECT_EQ(measure.width("", kStyle), 0.0);
}

TEST(TextMeasurer, DirectionIsThatOfTheFirstLetter) {
  const TextMeasurer measure("en");
  EXPECT_TRUE(measure.right_to_left("(المفتاح) key"));
  EXPECT_TRUE(measure.right_to_left("שלום"));
  EXPECT_FALSE(measure.right_to_left("key المفتاح"));
  EXPECT_FALSE(measure.right_to_left("12, 3"));
}

TEST(TextMeasurer, ShortenedFitsAndCutsBetweenCharacters) {
  const TextMeasurer measure("en");
  EXPECT_EQ(measure.shortened("short", kStyle, 100.0), "short");
  const std::string cut = measure.shortened("unbelievably long", kStyle, 60.0);
  EXPECT_TRUE(cut.ends_with("\u2026")) << cut;
  EXPECT_LE(measure.width(cut, kStyle), 60.0);
  EXPECT_TRUE(std::string("unbelievably long").starts_with(cut.substr(0, cut.size() - 3)));
  EXPECT_EQ(measure.shortened("wide", kStyle, 1.0), "\u2026");
  // One character: kept whole or not at all.
  const std::string scientists = "👩‍🔬👩‍🔬👩‍🔬👩‍🔬";
  const std::string fewer = measure.shortened(scientists, kStyle, 50.0);
  EXPECT_EQ((fewer.size() - 3) % std::string("👩‍🔬").size(), 0u) << fewer;
  EXPECT_LE(measure.width(measure.shortened(std::string(1 << 20, 'x'), kStyle, 80.0), kStyle), 80.0);
}

TEST(TextMeasurer, WrappedLinesFitAndKeepAllWords) {
  const TextMeasurer measure("en");
  const std::string text = "Weights are renormalised after discarding, because rows no longer sum to one.";
  std::string joined;
  for (const std::string& line : measure.wrapped(text, kStyle, 150.0)) {
    EXPECT_LE(measure.width(line, kStyle), 150.0 + 1.0);
    joined += (joined.empty() ? "" : " ") + line;
  }
  EXPECT_EQ(joined, text);
}

TEST(TextMeasurer, ParagraphPlacesRangesInReadingOrder) {
  const TextMeasurer measure("en");
  const std::string text = "one two three four";
  const std::vector<ParagraphRange> ranges = {{0, 3}, {4, 7}, {8, 13}, {14, 18}};
  const Paragraph wide = measure.paragraph(text, ranges, kStyle, 500.0, false);
  ASSERT_EQ(wide.lines, 1u);
  ASSERT_EQ(wide.placed.size(), 4u);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_GT(wide.placed[i].x, wide.placed[i - 1].x + wide.placed[i - 1].width);

  const Paragraph narrow = measure.paragraph(text, ranges, kStyle, 60.0, false);
  EXPECT_GT(narrow.lines, 1u);
  for (const PlacedRange& placed : narrow.placed) EXPECT_LE(placed.x + placed.width, 60.0 + 1.0);
}

TEST(TextMeasurer, RightToLeftParagraphsRunFromTheRight) {
  const TextMeasurer measure("en");
  const std::string first = "الكتاب";
  const std::string second = "هنا";
  const std::string text = first + " " + second;
  const Paragraph paragraph =
      measure.paragraph(text, {{0, first.size()}, {first.size() + 1, text.size()}}, kStyle, 300.0, true);
  ASSERT_EQ(paragraph.placed.size(), 2u);
  EXPECT_GT(paragraph.placed[0].x, paragraph.placed[1].x);
  EXPECT_NEAR(paragraph.placed[0].x + paragraph.placed[0].width, 300.0, 0.1);
}

}  // namespace
}  // namespace attnflow::internal::text_layout_test
