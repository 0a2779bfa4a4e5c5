#include "attnflow/analysis/text_words.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "attnflow/base/error.h"

namespace attnflow::text_words_test {
namespace {

// "[CLS] The key to the cabin ##ets is The [SEP]"
Report key_report() {
  Report report;
  report.input.text = "The key to the cabinets is The";
  report.input.tokens = {{"[CLS]", {}, {}, true, {}, 0, false}, {"the", 0, 3, false, 0, 0, false},
                         {"key", 4, 7, false, 1, 0, false},     {"to", 8, 10, false, 2, 0, false},
                         {"the", 11, 14, false, 3, 0, false},   {"cabin", 15, 20, false, 4, 0, false},
                         {"##ets", 20, 23, false, 4, 0, false}, {"is", 24, 26, false, 5, 0, false},
                         {"the", 27, 30, false, 6, 0, false},   {"[SEP]", {}, {}, true, {}, 0, false}};
  return report;
}

struct Found {
  std::size_t token = 0;
  std::vector<std::string> notes;
};

Found find(Report report, const std::string& asked) {
  report.settings.output_token = asked;
  Found found;
  found.token = resolve_output_token(report, found.notes);
  return found;
}

std::string refusal(const Report& report, const std::string& asked) {
  try {
    find(report, asked);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  ADD_FAILURE() << asked << " was not refused";
  return "";
}

TEST(OutputTokenByText, KeywordsAndPositionsKeepTheirMeaning) {
  const Report report = key_report();
  EXPECT_EQ(find(report, "auto").token, 0U);
  EXPECT_EQ(find(report, "cls").token, 0U);
  EXPECT_EQ(find(report, "last").token, 9U);
  EXPECT_EQ(find(report, "all").token, 0U);
  EXPECT_EQ(find(report, "7").token, 7U);
  EXPECT_NE(refusal(report, "10").find("from 0 to 9"), std::string::npos);
  EXPECT_NE(refusal(report, "mask").find("mask token"), std::string::npos);
  // Also where the text has such a word.
  Report words = report;
  words.input.text.replace(4, 3, "all");
  EXPECT_EQ(find(words, "all").token, 0U);
}

TEST(OutputTokenByText, WordsAndPieces) {
  const Report report = key_report();
  EXPECT_EQ(find(report, "key").token, 2U);
  EXPECT_EQ(find(report, "the").token, 4U);  // the two others are written "The"
  EXPECT_EQ(find(report, "KEY").token, 2U);
  EXPECT_EQ(find(report, "[SEP]").token, 9U);
  EXPECT_EQ(find(report, "cabin").token, 5U);
  EXPECT_EQ(find(report, "ets").token, 6U);
  EXPECT_EQ(find(report, "##ets").token, 6U);
  EXPECT_TRUE(find(report, "ets").notes.empty());
}

TEST(OutputTokenByText, AWordOfSeveralPiecesIsItsLastOne) {
  Report report = key_report();
  const Found found = find(report, "cabinets");
  EXPECT_EQ(found.token, 6U);
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_NE(found.notes[0].find("\"cabinets\" is 2 tokens; the output token is the last of them, at position 6"),
            std::string::npos)
      << found.notes[0];
  report.settings.words = true;
  EXPECT_EQ(find(report, "cabinets").token, 6U);
  EXPECT_TRUE(find(report, "cabinets").notes.empty());
}

TEST(OutputTokenByText, SaysWhatIsWrong) {
  const Report report = key_report();
  const std::string several = refusal(report, "The");
  EXPECT_NE(several.find("'The' 2 times, at positions 1, 8"), std::string::npos) << several;
  const std::string all = refusal(report, "THE");
  EXPECT_NE(all.find("3 times, at positions 1, 4, 8"), std::string::npos) << all;
  const std::string none = refusal(report, "cupboard");
  EXPECT_NE(none.find("'cupboard'; the words are The key to the cabinets is"), std::string::npos) << none;
  Report bare;
  bare.input.kind = "attention";
  bare.input.tokens.resize(3);
  EXPECT_NE(refusal(bare, "key").find("the tokens have no text"), std::string::npos);
  bare.input.tokens[1].text = "key";
  EXPECT_EQ(find(bare, "key").token, 1U);
}

}  // namespace
}  // namespace attnflow::text_words_test
