#include "training/agreement/grammar.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "attnflow/files/files_for_test.h"
#include "training/agreement/prose.h"

namespace attnflow::grammar_test {
namespace {

// Invented nouns that end in a consonant, so that adding "s" gives a plural.
NounLexicon lexicon_of(std::size_t nouns) {
  ProseDocument document;
  for (std::size_t i = 0; i < nouns; ++i) {
    const std::string noun =
        std::string("b") + static_cast<char>('a' + i / 26) + "l" + static_cast<char>('a' + i % 26) + "rk";
    for (int k = 0; k < 5; ++k) document.paragraphs.push_back("A " + noun + ", the " + noun + "s.");
  }
  NounLexiconBuilder builder;
  builder.add(document);
  return builder.build();
}

TEST(Grammar, MakesTheFourKindsEquallyOften) {
  const NounLexicon lexicon = lexicon_of(40);
  ASSERT_EQ(lexicon.pairs().size(), 40U);
  GrammarOptions options;
  options.count = 2002;
  const auto examples = grammar_examples(lexicon, options);
  ASSERT_EQ(examples.size(), 2002U);
  std::array<std::size_t, 4> kinds{};
  std::set<std::string> texts;
  for (const AgreementExample& example : examples) {
    ++kinds[(example.plural ? 2U : 0U) + (example.attractor ? 1U : 0U)];
    texts.insert(example.text);
    EXPECT_EQ(example.source, "grammar");
    EXPECT_EQ(example.plural, example.verb == "are" || example.verb == "were");
  }
  for (const std::size_t kind : kinds) EXPECT_NEAR(static_cast<double>(kind), 2002 / 4.0, 1);
  EXPECT_GT(texts.size(), 1900U);
}

// Parses each sentence again: the first noun, or "and" between two phrases at the beginning, is the subject.
TEST(Grammar, LabelsFollowFromTheSentences) {
  const NounLexicon lexicon = lexicon_of(40);
  GrammarOptions options;
  options.count = 4000;
  std::size_t coordinated = 0;
  for (const AgreementExample& example : grammar_examples(lexicon, options)) {
    const std::vector<ProseWord> words = split_words(example.text);
    EXPECT_EQ(words.size(), example.words);
    std::vector<GrammaticalNumber> nouns;
    bool conjunction = false;
    for (const ProseWord& word : words) {
      const GrammaticalNumber number = lexicon.number(word.text);
      if (number != GrammaticalNumber::kUnknown) nouns.push_back(number);
      if (word.text == "and") conjunction = true;
    }
    ASSERT_FALSE(nouns.empty()) << example.text;
    coordinated += conjunction ? 1U : 0U;
    EXPECT_EQ(example.plural, conjunction || nouns.front() == GrammaticalNumber::kPlural) << example.text;
    EXPECT_EQ(example.attractor, example.plural != (nouns.back() == GrammaticalNumber::kPlural)) << example.text;
    EXPECT_LE(words.size(), 24U) << example.text;
    EXPECT_TRUE(example.text.front() >= 'A' && example.text.front() <= 'Z');
    EXPECT_EQ(example.text.find("  "), std::string::npos);
  }
  EXPECT_GT(coordinated, 200U);
}

TEST(Grammar, UsesTheMostFrequentNounsAndTheSeed) {
  const NounLexicon lexicon = lexicon_of(60);
  GrammarOptions options;
  options.count = 300;
  options.nouns = 25;
  const auto first = grammar_examples(lexicon, options);
  std::set<std::string> used;
  for (const AgreementExample& example : first) {
    for (const ProseWord& word : split_words(example.text)) {
      if (lexicon.number(word.text) != GrammaticalNumber::kUnknown) used.insert(word.text);
    }
  }
  EXPECT_LE(used.size(), 50U);
  const auto again = grammar_examples(lexicon, options);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(again[i].text, first[i].text);
  options.seed = 2;
  EXPECT_NE(grammar_examples(lexicon, options)[0].text, first[0].text);
}

TEST(Grammar, NeedsNouns) {
  GrammarOptions options;
  options.count = 1;
  test::expect_error(ErrorKind::kBadFile, {"at least 20 nouns", "found 19"},
                     [&] { grammar_examples(lexicon_of(19), options); });
  options.count = 0;
  EXPECT_TRUE(grammar_examples(lexicon_of(20), options).empty());
}

}  // namespace
}  // namespace attnflow::grammar_test
