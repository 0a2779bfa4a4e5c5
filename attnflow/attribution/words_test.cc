#include "attnflow/attribution/words.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/error_for_test.h"

namespace attnflow::words_test {
namespace {

// "[CLS] The key to the cabin ##ets is The [SEP]"
InputText key_input() {
  InputText input;
  input.text = "The key to the cabinets is The";
  input.tokens = {{"[CLS]", {}, {}, true, {}, 0, false}, {"the", 0, 3, false, 0, 0, false},
                  {"key", 4, 7, false, 1, 0, false},     {"to", 8, 10, false, 2, 0, false},
                  {"the", 11, 14, false, 3, 0, false},   {"cabin", 15, 20, false, 4, 0, false},
                  {"##ets", 20, 23, false, 4, 0, false}, {"is", 24, 26, false, 5, 0, false},
                  {"the", 27, 30, false, 6, 0, false},   {"[SEP]", {}, {}, true, {}, 0, false}};
  return input;
}

struct Found {
  std::size_t token = 0;
  std::vector<Note> notes;
};

Found find(const InputText& input, const std::string& asked, bool merges_words = false) {
  Found found;
  found.token = resolve_output_token(parse_output_token(asked), input, /*causal=*/false, merges_words, found.notes);
  return found;
}

std::string refusal(const InputText& input, const std::string& asked) {
  SCOPED_TRACE(asked);
  return test::refusal(ErrorKind::kUsage, [&] { find(input, asked); });
}

TEST(OutputTokenByText, KeywordsAndPositionsKeepTheirMeaning) {
  const InputText input = key_input();
  EXPECT_EQ(find(input, "auto").token, 0U);
  EXPECT_EQ(find(input, "cls").token, 0U);
  EXPECT_EQ(find(input, "last").token, 9U);
  EXPECT_EQ(find(input, "all").token, 0U);
  EXPECT_EQ(find(input, "7").token, 7U);
  EXPECT_NE(refusal(input, "10").find("from 0 to 9"), std::string::npos);
  EXPECT_NE(refusal(input, "mask").find("mask token"), std::string::npos);
  // Even if the text has such a word.
  InputText words = input;
  words.text.replace(4, 3, "all");
  EXPECT_EQ(find(words, "all").token, 0U);
}

TEST(OutputTokenByText, WordsAndPieces) {
  const InputText input = key_input();
  EXPECT_EQ(find(input, "key").token, 2U);
  EXPECT_EQ(find(input, "the").token, 4U);  // the other two are "The"
  EXPECT_EQ(find(input, "KEY").token, 2U);
  EXPECT_EQ(find(input, "[SEP]").token, 9U);
  EXPECT_EQ(find(input, "cabin").token, 5U);
  EXPECT_EQ(find(input, "ets").token, 6U);
  EXPECT_EQ(find(input, "##ets").token, 6U);
  EXPECT_TRUE(find(input, "ets").notes.empty());
}

TEST(OutputTokenByText, AWordOfSeveralPiecesIsItsLastOne) {
  const InputText input = key_input();
  const Found found = find(input, "cabinets");
  EXPECT_EQ(found.token, 6U);
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_EQ(found.notes[0].text,
            "\u201ccabinets\u201d is 2 tokens; the output token is the last of them, at position 6.");
  EXPECT_EQ(find(input, "cabinets", /*merges_words=*/true).token, 6U);
  EXPECT_TRUE(find(input, "cabinets", /*merges_words=*/true).notes.empty());
}

TEST(OutputTokenByText, SaysWhatIsWrong) {
  const InputText input = key_input();
  const std::string several = refusal(input, "The");
  EXPECT_NE(several.find("'The' 2 times, at positions 1, 8"), std::string::npos) << several;
  const std::string all = refusal(input, "THE");
  EXPECT_NE(all.find("3 times, at positions 1, 4, 8"), std::string::npos) << all;
  const std::string none = refusal(input, "cupboard");
  EXPECT_NE(none.find("'cupboard'; the words are The key to the cabinets is"), std::string::npos) << none;
  InputText bare;
  bare.kind = "attention";
  bare.tokens.resize(3);
  EXPECT_NE(refusal(bare, "key").find("the tokens have no text"), std::string::npos);
  bare.tokens[1].text = "key";
  EXPECT_EQ(find(bare, "key").token, 1U);
}

}  // namespace
}  // namespace attnflow::words_test
