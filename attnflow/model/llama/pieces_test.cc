#include "attnflow/model/llama/pieces.h"

#include <gtest/gtest.h>

namespace attnflow::pieces_test {
namespace {

using Ranges = std::vector<ByteRange>;
using Words = std::vector<std::size_t>;

TEST(LocatePieces, InTheText) {
  struct Row {
    std::string text;
    std::vector<std::string> pieces;
    Ranges expected;
  };
  const std::vector<Row> rows = {
      {"The key is", {"The", " key", " is"}, {{0, 3}, {3, 7}, {7, 10}}},
      {"", {}, {}},
      // Halves of characters.
      {"a\xF0\x9F\x99\x82", {"a", "\xF0\x9F", "\x99", "\x82"}, {{0, 1}, {1, 3}, {3, 4}, {4, 5}}},
      // A space that the tokenizer put in front, after a special token too.
      {"The key", {" The", " key"}, {{0, 3}, {3, 7}}},
      {"The", {" ", "T", "he"}, {{0, 0}, {0, 1}, {1, 3}}},
      {"a<s>b", {"a", "<s>", " b"}, {{0, 1}, {1, 4}, {4, 5}}},
      // White space that the tokenizer dropped.
      {"a  <s>\n b", {"a", "<s>", "b"}, {{0, 1}, {3, 6}, {8, 9}}},
      // A piece that matches nothing shares the text up to the next.
      {"ab\xC3\xA9gh", {"ab", "?", "gh"}, {{0, 2}, {2, 4}, {4, 6}}},
      {"abXYcd", {"ab", "<unk>", "<unk>", "cd"}, {{0, 2}, {2, 4}, {2, 4}, {4, 6}}},
      {"abXY", {"ab", "<unk>"}, {{0, 2}, {2, 4}}},
      {"XY", {"", ""}, {{0, 2}, {0, 2}}},
  };
  for (const Row& row : rows) EXPECT_EQ(locate_pieces(row.text, row.pieces), row.expected) << row.text;
}

TEST(ReadableRange, WholeCharactersWithoutWhiteSpace) {
  const std::string text = " key \xF0\x9F\x99\x82\xE3\x80\x80z";
  EXPECT_EQ(readable_range(text, {0, 4}), (ByteRange{1, 4}));
  EXPECT_EQ(readable_range(text, {0, 5}), (ByteRange{1, 4}));
  EXPECT_EQ(readable_range(text, {4, 7}), (ByteRange{5, 9}));
  EXPECT_EQ(readable_range(text, {7, 8}), (ByteRange{5, 9}));
  EXPECT_EQ(readable_range(text, {8, 13}), (ByteRange{5, 13}));
  EXPECT_EQ(readable_range(text, {8, 12}), (ByteRange{5, 9}));
  EXPECT_EQ(readable_range(text, {0, 1}), (ByteRange{0, 1}));
  EXPECT_EQ(readable_range(text, {9, 12}), (ByteRange{9, 12}));
  EXPECT_EQ(readable_range("", {0, 0}), (ByteRange{0, 0}));
  EXPECT_EQ(readable_range(text, {text.size(), text.size()}), (ByteRange{text.size(), text.size()}));
}

TEST(NumberWords, ByClassesOfCharacters) {
  const std::string text = "The keys' 20 ab1...";
  const Ranges ranges = {{0, 3},   {3, 6},   {6, 8},   {8, 9},   {9, 11}, {11, 12},
                         {12, 14}, {14, 15}, {15, 16}, {16, 18}, {18, 19}};
  EXPECT_EQ(number_words(text, ranges, WordRule::kClasses, {}), (Words{0, 1, 1, 2, 3, 3, 4, 4, 5, 6, 6}));
  EXPECT_EQ(number_words(text, ranges, WordRule::kClassesAndDigits, {}), (Words{0, 1, 1, 2, 3, 4, 5, 5, 6, 7, 7}));
  EXPECT_EQ(number_words(text, ranges, WordRule::kSpaces, {}), (Words{0, 1, 1, 1, 2, 2, 3, 3, 3, 3, 3}));
}

TEST(NumberWords, SpecialTokensAreAlone) {
  const Ranges ranges = {{0, 1}, {1, 4}, {4, 5}, {5, 6}, {6, 7}};
  EXPECT_EQ(number_words("a<s>b c", ranges, WordRule::kSpaces, {false, true, false, false, false}),
            (Words{0, 1, 2, 3, 3}));
  EXPECT_EQ(number_words("<s><s>a", {{0, 3}, {3, 6}, {6, 7}}, WordRule::kClasses, {true, true, false}),
            (Words{0, 1, 2}));
}

TEST(NumberWords, Contractions) {
  const Ranges ranges = {{0, 2}, {2, 3}, {3, 4}, {4, 7}, {7, 8}, {8, 10}, {10, 13}};
  EXPECT_EQ(number_words("it's Ann'llama", ranges, WordRule::kClasses, {}), (Words{0, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(number_words("it's Ann'llama", ranges, WordRule::kSpaces, {}), (Words{0, 0, 0, 1, 1, 1, 1}));
}

TEST(NumberWords, AccentsStayWithTheirLetters) {
  EXPECT_EQ(number_words("e\u0301t", {{0, 1}, {1, 3}, {3, 4}}, WordRule::kClasses, {}), (Words{0, 0, 0}));
}

TEST(NumberWords, ClassesAreUnicodes) {
  // Letters, Devanagari digits, a vulgar fraction; a dash, an emoji and its color modifier; Devanagari vowel signs.
  const std::string text = "\u0434\u0967\u00BD\u2014\U0001F44D\U0001F3FD\u0915\u093F\u094D";
  const Ranges ranges = {{0, 2}, {2, 5}, {5, 7}, {7, 10}, {10, 14}, {14, 18}, {18, 21}, {21, 24}, {24, 27}};
  EXPECT_EQ(number_words(text, ranges, WordRule::kClasses, {}), (Words{0, 1, 1, 2, 2, 2, 3, 3, 3}));
  EXPECT_EQ(number_words(text, ranges, WordRule::kClassesAndDigits, {}), (Words{0, 1, 2, 3, 3, 3, 4, 4, 4}));
}

TEST(NumberWords, ASingleSpaceBelongsToTheNextWord) {
  const Ranges ranges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}};
  EXPECT_EQ(number_words("a b  c 1", ranges, WordRule::kClasses, {}), (Words{0, 1, 1, 2, 3, 3, 4, 4}));
  EXPECT_EQ(number_words("a b  c 1", ranges, WordRule::kClassesAndDigits, {}), (Words{0, 1, 1, 2, 3, 3, 4, 5}));
  EXPECT_EQ(number_words("ab", {{0, 0}, {0, 1}, {1, 2}}, WordRule::kSpaces, {}), (Words{0, 0, 0}));
}

TEST(NumberWords, HalvesOfACharacterAreOneWord) {
  EXPECT_EQ(number_words("a\xF0\x9F\x99\x82", {{0, 1}, {1, 3}, {3, 5}}, WordRule::kClasses, {}), (Words{0, 1, 1}));
  EXPECT_EQ(number_words("\xC3\xA9t\xC3\xA9", {{0, 1}, {1, 2}, {2, 3}, {3, 5}}, WordRule::kClasses, {}),
            (Words{0, 0, 0, 0}));
}

}  // namespace
}  // namespace attnflow::pieces_test
