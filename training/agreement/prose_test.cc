#include "training/agreement/prose.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "attnflow/files/files_for_test.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow::prose_test {
namespace {

using test::expect_error;
using test::put;
using test::TempFolder;

std::vector<std::string> sentences(std::string_view paragraph) {
  std::vector<std::string> result;
  for (const std::string_view sentence : split_sentences(paragraph)) result.emplace_back(sentence);
  return result;
}

std::vector<std::string> words(std::string_view sentence) {
  std::vector<std::string> result;
  for (const ProseWord& word : split_words(sentence)) result.push_back(word.text);
  return result;
}

using Strings = std::vector<std::string>;

TEST(SplitSentences, EndsAtMarksBeforeWhatCanBeginASentence) {
  EXPECT_EQ(sentences("One came. Two went! Did three? “Four.” (Five.) 6 is next… So it is"),
            (Strings{"One came.", "Two went!", "Did three?", "“Four.”", "(Five.)", "6 is next…", "So it is"}));
  EXPECT_EQ(sentences("  A line.  "), (Strings{"A line."}));
  EXPECT_EQ(sentences(""), Strings{});
  EXPECT_EQ(sentences("..."), (Strings{"..."}));
}

TEST(SplitSentences, KeepsColonsSemicolonsAndLowerCaseTogether) {
  const Strings one = {"He saw three things: cats; dogs; and. so on, e.g. mice (i.e. rodents)."};
  EXPECT_EQ(sentences(one[0]), one);
  const Strings quoted = {"“Is it so?” asked the man."};
  EXPECT_EQ(sentences(quoted[0]), quoted);
}

TEST(SplitSentences, KnowsAbbreviations) {
  for (const char* whole :
       {"Dr. Smith met Mrs. Jones in St. Louis.", "J. S. Mill wrote it.", "The U.S. Congress met.",
        "See Fig. 3 and No. 5 on p. 7 or pp. 8.", "The case of Marbury v. Madison is old.",
        "At 5 p.m. Monday it began.", "Smith et al. 2005 is one.", "It costs $3.50 at www.Example.com now."}) {
    EXPECT_EQ(sentences(whole), Strings{whole}) << whole;
  }
  EXPECT_EQ(sentences("They came to the U.S. The country is large."),
            (Strings{"They came to the U.S.", "The country is large."}));
  EXPECT_EQ(sentences("He said no. Then he left."), (Strings{"He said no.", "Then he left."}));
  EXPECT_EQ(sentences("So am I. They are not."), (Strings{"So am I.", "They are not."}));
}

TEST(SplitSentences, LosesNothingButWhiteSpace) {
  const std::string paragraph = "Das “ist.” Élan vital.\tÀ bientôt! ¿Qué? 𝛼 is a letter. … . ! x";
  std::string joined;
  for (const std::string& sentence : sentences(paragraph)) joined += sentence;
  std::string expected;
  for (const char c : paragraph) {
    if (c != ' ' && c != '\t') expected += c;
  }
  std::string squeezed;
  for (const char c : joined) {
    if (c != ' ' && c != '\t') squeezed += c;
  }
  EXPECT_EQ(squeezed, expected);
}

TEST(SplitWords, SplitsAsItIsWritten) {
  EXPECT_EQ(words("The key’s “U.S.” cabinets—ÉLAN, 3.5%"),
            (Strings{"the", "key", "’", "s", "“", "u", ".", "s", ".", "”", "cabinets", "—", "élan", ",", "3", ".", "5",
                     "%"}));
  EXPECT_EQ(words(" \t\n"), Strings{});
  EXPECT_EQ(words("漢字 soft\u00ADhyphen"), (Strings{"漢", "字", "softhyphen"}));
  EXPECT_EQ(words("ΑΘΉΝΑ Москва"), (Strings{"αθΉνα", "москва"}));
}

TEST(SplitWords, RangesHoldTheOriginalText) {
  const std::string sentence = "  The Key, “To” the\u00A0cabinets.";
  std::size_t end = 0;
  std::vector<std::string> originals;
  for (const ProseWord& word : split_words(sentence)) {
    EXPECT_GE(word.begin, end);
    EXPECT_GT(word.end, word.begin);
    end = word.end;
    originals.push_back(sentence.substr(word.begin, word.end - word.begin));
  }
  EXPECT_EQ(originals, (Strings{"The", "Key", ",", "“", "To", "”", "the", "cabinets", "."}));
}

TEST(SplitWords, AgreesWithBertPreTokenizer) {
  const Tokenizer tokenizer = Tokenizer::load(std::string(ATTNFLOW_SOURCE_DIR) + "/attnflow/text/testdata/bert");
  for (const std::string text :
       {"The key’s “U.S.” cabinets—ÉLAN, 3.5% of £7 (see [2]) is/are _x_ a+b=c <d> ~e^f`g|h $5 #1 @me \\n {i}",
        "Naïve café‐owners… § 5 · ‘so’ ‹no› 5° × 3′ 6″ ½ ⁄ ⁂ † ‡ • ‰ № ™ ® 漢字とかな 한국 Ω ÅNGSTRÖM",
        "tab\tand\u00A0no-break\u2009thin zero\u200Bwidth soft\u00ADhyphen , . ; : ! ?", "A",
        "don't — can’t -- 'tis"}) {
    std::map<std::size_t, std::pair<std::size_t, std::size_t>> expected;
    for (const EncodedToken& token : tokenizer.encode(text).tokens) {
      if (!token.word) continue;
      const auto [range, is_new] = expected.try_emplace(*token.word, *token.begin, *token.end);
      if (!is_new) range->second.second = std::max(range->second.second, *token.end);
    }
    std::vector<std::string> truth;
    for (const auto& [number, range] : expected) truth.push_back(text.substr(range.first, range.second - range.first));
    std::vector<std::string> ours;
    for (const ProseWord& word : split_words(text)) ours.push_back(text.substr(word.begin, word.end - word.begin));
    EXPECT_FALSE(truth.empty());
    EXPECT_EQ(ours, truth);
  }
}

TEST(ReadProse, ReadsParagraphsWhateverEndsTheLines) {
  const TempFolder folder;
  put(folder / "a.txt",
      "\xEF\xBB\xBF"
      "First one.\r\nSecond.\r\r\n \t \n  Third.  ");
  put(folder / "b.txt", std::string("With\0NUL.\n", 10));
  put(folder / "notes.md", "not read");
  const auto documents = read_prose({folder.path()});
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[0].name, "a");
  EXPECT_EQ(documents[0].paragraphs, (Strings{"First one.", "Second.", "Third."}));
  EXPECT_EQ(documents[0].bytes, 39U);
  EXPECT_EQ(documents[1].name, "b");
  EXPECT_EQ(documents[1].paragraphs, (Strings{"With NUL."}));
  EXPECT_EQ(read_prose({folder / "notes.md"})[0].name, "notes");
}

TEST(ReadProse, SaysWhatIsWrong) {
  const TempFolder folder;
  expect_error(ErrorKind::kBadFile, {"expected text files", "none"}, [] { read_prose({}); });
  expect_error(ErrorKind::kBadFile, {"missing", "nothing there"}, [&] { read_prose({folder / "missing"}); });
  expect_error(ErrorKind::kBadFile, {".txt files", "none"}, [&] { read_prose({folder.path()}); });
  put(folder / "bad.txt", "Good.\nB\xFFzz");
  expect_error(ErrorKind::kBadFile, {"bad.txt", "UTF-8", "0xFF", "offset 7", "iconv"},
               [&] { read_prose({folder.path()}); });
  const auto good = put(folder / "good.txt", "Good.");
  expect_error(ErrorKind::kBadFile, {"good", "second one"}, [&] { read_prose({good, good}); });
}

}  // namespace
}  // namespace attnflow::prose_test
