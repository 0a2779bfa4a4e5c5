#include <gtest/gtest.h>

#include "attnflow/explain/token_notes.h"

namespace attnflow::special_twice_test {
namespace {

InputToken added(const std::string& text) {
  return {.text = text, .begin = {}, .end = {}, .special = true, .word = {}};
}
InputToken written(const std::string& text, std::size_t begin) {
  return {.text = text, .begin = begin, .end = begin + text.size(), .special = true, .word = {}};
}
InputToken word(const std::string& text) { return {.text = text, .begin = 0, .end = 1, .word = 0}; }

std::vector<std::string> notes_of(std::vector<InputToken> tokens) {
  Report report;
  report.input.tokens = std::move(tokens);
  note_special_twice(report);
  std::vector<std::string> texts;
  for (const Note& note : report.notes) texts.push_back(note.text);
  return texts;
}

TEST(SpecialTwice, NamesWhatStandsInTheTextAndIsAdded) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(notes_of({added("<s>"), written("<s>", 0), word("a")}),
            Texts{"<s> stands in the text, and the tokenizer adds it, too: the model sees it twice in a row."});
  EXPECT_EQ(notes_of({added("[CLS]"), written("[CLS]", 0), word("a"), written("[SEP]", 6), added("[SEP]")}),
            Texts{"[CLS] and [SEP] stand in the text, and the tokenizer adds them, too: the model sees each twice in a "
                  "row."});
}

TEST(SpecialTwice, IsSilentElsewhere) {
  EXPECT_TRUE(notes_of({added("<s>"), word("a"), added("</s>")}).empty());
  EXPECT_TRUE(notes_of({added("<s>"), word("<s>")}).empty());                   // a word with that spelling
  EXPECT_TRUE(notes_of({word("a"), added("</s>"), added("</s>")}).empty());     // end of a source, start of a target
  EXPECT_TRUE(notes_of({written("[MASK]", 0), written("[MASK]", 7)}).empty());  // the user's own
  EXPECT_TRUE(notes_of({added("[CLS]"), written("[SEP]", 0), word("a")}).empty());
}

}  // namespace
}  // namespace attnflow::special_twice_test
