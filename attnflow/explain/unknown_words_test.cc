#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "attnflow/explain/token_notes.h"

namespace attnflow::unknown_words_test {
namespace {

// A report with one token per word; words with a leading '?' are unknown to the tokenizer.
Report report_of(const std::vector<std::string>& words, const std::string& unknown_piece = "[UNK]") {
  Report report;
  for (std::size_t w = 0; w < words.size(); ++w) {
    const bool unknown = words[w].front() == '?';
    const std::string text = words[w].substr(unknown ? 1 : 0);
    if (w > 0) report.input.text += ' ';
    const std::size_t begin = report.input.text.size();
    report.input.text += text;
    report.input.tokens.push_back(
        {unknown ? unknown_piece : text, begin, report.input.text.size(), false, w, 0, false});
  }
  return report;
}

TEST(UnknownWords, AreMarkedCountedAndListed) {
  Report report = report_of({"the", "?gadget", "of", "?doodad"});
  mark_unknown_words(report);
  EXPECT_FALSE(report.input.tokens[0].unknown);
  EXPECT_TRUE(report.input.tokens[1].unknown);
  EXPECT_TRUE(report.input.tokens[3].unknown);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_EQ(report.notes[0].text,
            "2 words are not in the model's vocabulary, so the model cannot tell them apart: gadget, doodad.");

  Report one = report_of({"the", "?gadget"}, "<unk>");
  mark_unknown_words(one);
  ASSERT_EQ(one.notes.size(), 1U);
  EXPECT_EQ(
      one.notes[0].text,
      "1 word is not in the model's vocabulary, so the model cannot tell it from any other unknown word: gadget.");
}

TEST(UnknownWords, KnownTextHasNoNote) {
  Report report = report_of({"the", "key"});
  mark_unknown_words(report);
  EXPECT_TRUE(report.notes.empty());
  Report written = report_of({"the", "[UNK]"});
  mark_unknown_words(written);
  EXPECT_FALSE(written.input.tokens[1].unknown);
  EXPECT_TRUE(written.notes.empty());
}

TEST(UnknownWords, PiecesOfOneWordAreOneWordAndTextsAreListedOnce) {
  Report report = report_of({"?a", "?b", "?a"});
  report.input.tokens[1].word = 0;
  mark_unknown_words(report);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_EQ(report.notes[0].text,
            "2 words are not in the model's vocabulary, so the model cannot tell them apart: a, b.");

  std::vector<std::string> many;
  for (char c = 'a'; c <= 'k'; ++c) many.push_back(std::string("?") + c);
  Report long_report = report_of(many);
  mark_unknown_words(long_report);
  ASSERT_EQ(long_report.notes.size(), 1U);
  EXPECT_NE(long_report.notes[0].text.find("11 words"), std::string::npos);
  EXPECT_TRUE(long_report.notes[0].text.ends_with(": a, b, c, d, e, f, g, h and 3 more.")) << long_report.notes[0].text;
}

}  // namespace
}  // namespace attnflow::unknown_words_test
