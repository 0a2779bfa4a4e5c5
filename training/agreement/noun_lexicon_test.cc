#include "training/agreement/noun_lexicon.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace attnflow::noun_lexicon_test {
namespace {

NounLexicon lexicon_of(const std::vector<std::string>& sentences, std::size_t times) {
  ProseDocument document;
  for (std::size_t i = 0; i < times; ++i) {
    document.paragraphs.insert(document.paragraphs.end(), sentences.begin(), sentences.end());
  }
  NounLexiconBuilder builder;
  builder.add(document);
  return builder.build();
}

const NounLexicon& small() {
  static const NounLexicon kLexicon =
      lexicon_of({"A key is here and the keys are there.", "Every city of the cities is old.", "A leaf, the leaves.",
                  "An analysis of many analyses.", "A box, the boxes.", "A workman and the workmen.",
                  "A new book of the news.", "A book, a new book, the books.", "A need of the needs.",
                  "They need it, who needs it, he needs it, they need it.",
                  "They need it, who needs it, he needs it, they need it.", "A species of the species is here.",
                  "The information is here.", "The police are here.", "He often is here.", "A ration, the rations.",
                  "An American key, the Americans, an American book."},
                 15);
  return kLexicon;
}

TEST(NounLexicon, FindsPairs) {
  using enum GrammaticalNumber;
  for (const char* word : {"key", "city", "leaf", "analysis", "box", "workman", "book", "ration"}) {
    EXPECT_EQ(small().number(word), kSingular) << word;
  }
  for (const char* word : {"keys", "cities", "leaves", "analyses", "boxes", "workmen", "books", "rations"}) {
    EXPECT_EQ(small().number(word), kPlural) << word;
  }
  const auto& pairs = small().pairs();
  EXPECT_TRUE(std::any_of(pairs.begin(), pairs.end(),
                          [](const NounPair& pair) { return pair.singular == "city" && pair.plural == "cities"; }));
  for (std::size_t i = 1; i < pairs.size(); ++i) EXPECT_GE(pairs[i - 1].count, pairs[i].count);
}

TEST(NounLexicon, LeavesOutVerbsAdjectivesAndWhatHasNoNumber) {
  using enum GrammaticalNumber;
  for (const char* word : {"need", "needs", "new", "species", "often", "the", "here", "is", "unheard", ""}) {
    EXPECT_EQ(small().number(word), kUnknown) << word;
  }
  // An adjective whose plural is a noun.
  EXPECT_EQ(small().number("american"), kUnknown);
  EXPECT_EQ(small().number("americans"), kPlural);
}

TEST(NounLexicon, LearnsNumberFromVerbsWhereThereIsNoPair) {
  EXPECT_EQ(small().number("information"), GrammaticalNumber::kSingular);
  EXPECT_EQ(small().number("police"), GrammaticalNumber::kPlural);
}

TEST(NounLexicon, NeedsEvidence) {
  EXPECT_EQ(lexicon_of({"A key and the keys."}, 1).size(), 0U);
  EXPECT_EQ(lexicon_of({"A key and the keys."}, 3).pairs().size(), 1U);
  EXPECT_EQ(NounLexicon().number("key"), GrammaticalNumber::kUnknown);
  EXPECT_TRUE(NounLexiconBuilder().build().pairs().empty());
}

}  // namespace
}  // namespace attnflow::noun_lexicon_test
