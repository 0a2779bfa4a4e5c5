#include "training/agreement/agreement_rules.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace attnflow::internal::agreement_rules_test {
namespace {

using Strings = std::vector<std::string>;

const NounLexicon& lexicon() {
  static const NounLexicon kLexicon = [] {
    ProseDocument document;
    for (const char* noun : {"key", "cabinet", "cell", "nurse", "book", "house", "cat", "lamp", "question", "answer",
                             "author", "law", "state", "problem"}) {
      for (int i = 0; i < 5; ++i) {
        document.paragraphs.push_back(std::string("A ") + noun + ", the " + noun + "s.");
      }
    }
    NounLexiconBuilder builder;
    builder.add(document);
    return builder.build();
  }();
  return kLexicon;
}

struct Found {
  Strings prefixes;  // "prefix -> verb", with " (attractor)" and " (pronoun)"
  AgreementCounts counts;
};

Found find(const std::string& sentence, const AgreementDataOptions& options = {}) {
  AgreementRules rules(options, lexicon());
  const std::vector<ProseWord> words = split_words(sentence);
  std::vector<AgreementSite> sites;
  Found found;
  rules.find(sentence, words, sites, found.counts);
  for (const AgreementSite& site : sites) {
    EXPECT_LT(site.word, words.size());
    std::string text = sentence.substr(0, words[site.word - 1].end) + " -> " + words[site.word].text;
    if (site.attractor) text += " (attractor)";
    if (site.pronoun_subject) text += " (pronoun)";
    found.prefixes.push_back(std::move(text));
  }
  return found;
}

TEST(AgreementRules, FindsVerbsWhoseSubjectStandsBefore) {
  const std::map<std::string, Strings> kExpected = {
      {"The key to the cabinets is old.", {"The key to the cabinets -> is (attractor)"}},
      {"The keys to the cabinet are old.", {"The keys to the cabinet -> are (attractor)"}},
      {"The keys that open the cabinets often have marks.", {"The keys that open the cabinets often -> have"}},
      {"The nurse, who knows the authors, includes it.",
       {"The nurse, who -> knows", "The nurse, who knows the authors, -> includes (attractor)"}},
      {"The cells (and not the cat) contain water.", {"The cells (and not the cat) -> contain (attractor)"}},
      {"The cat and the lamp were lost.", {"The cat and the lamp -> were (attractor)"}},
      {"In 1990, the laws of the state were new.", {"In 1990, the laws of the state -> were (attractor)"}},
      {"The authors, some of the book’s best—those of old—are gone.",
       {"The authors, some of the book’s best—those of old— -> are (attractor)"}},
      {"For the cat it is over.", {}},
      {"Then they are here.", {"Then they -> are (pronoun)"}},
      {"Often it has a lamp.", {"Often it -> has (pronoun)"}},
      {"The houses of the U.S. are old.", {"The houses of the U.S. -> are"}},
      {"The law does not help.", {"The law -> does"}},
  };
  for (const auto& [sentence, expected] : kExpected) {
    EXPECT_EQ(find(sentence).prefixes, expected) << sentence;
  }
}

TEST(AgreementRules, CountsWhyAVerbIsLeftOut) {
  using Member = std::size_t AgreementCounts::*;
  const std::vector<std::pair<std::string, Member>> kCases = {
      {"It is here now.", &AgreementCounts::length},
      {"The Xref of the book is here.", &AgreementCounts::placeholder},
      {"The cats like a has-been here.", &AgreementCounts::not_a_verb},
      {"The cats do that all day.", &AgreementCounts::not_a_verb},
      {"The cell can also include the keys.", &AgreementCounts::base_form},
      {"The nurse wants to have the key.", &AgreementCounts::base_form},
      {"The laws let the nurse have the key.", &AgreementCounts::base_form},
      {"The law demands that the nurse have a key.", &AgreementCounts::base_form},
      {"The cells divide and include keys.", &AgreementCounts::base_form},
      {"If the nurse calls, include the key.", &AgreementCounts::base_form},
      {"Only then did the number of houses in the old law of the state include cats.", &AgreementCounts::base_form},
      {"It is so even if my answer prove wrong.", &AgreementCounts::base_form},
      {"They lived as if the cat were a nurse.", &AgreementCounts::base_form},
      {"Now and then there are cats here.", &AgreementCounts::inverted},
      {"In the old house are two cats.", &AgreementCounts::inverted},
      {"He asked where the cat, and why is it so.", &AgreementCounts::inverted},
      {"The nurse is older than are the cats.", &AgreementCounts::inverted},
      {"Included in this house are keys.", &AgreementCounts::inverted},
      {"The house in which are the cats.", &AgreementCounts::inverted},
      {"And so I have a cat.", &AgreementCounts::person},
      {"These days you are my cat.", &AgreementCounts::person},
      {"The cat or the nurses are here.", &AgreementCounts::undetermined},
      {"The many species are old.", &AgreementCounts::undetermined},
      {"He saw what the cats in houses are.", &AgreementCounts::undetermined},
      {"One of the nurses who are here.", &AgreementCounts::undetermined},
      {"The author said “the cat is here” to him.", &AgreementCounts::quotation},
      {"The nurses (who are old) came.", &AgreementCounts::quotation},
  };
  for (const auto& [sentence, member] : kCases) {
    const Found found = find(sentence);
    EXPECT_EQ(found.counts.*member, 1U) << sentence;
  }
}

TEST(AgreementRules, LeavesOutWhatIsNoSentence) {
  for (const char* text : {"The key of the house is", "The Key is", "is the key of the house.", "• The key is old.",
                           "Is the key of the house old?", "What the key is was clear.", "See http://x.y, it is there.",
                           "The key(s) is old.", "The set A = B is old.", ""}) {
    const Found found = find(text);
    EXPECT_EQ(found.counts.no_sentence, 1U) << text;
    EXPECT_TRUE(found.prefixes.empty()) << text;
  }
  EXPECT_EQ(find("The key of the house fell.").counts.without_verb, 1U);
}

TEST(AgreementRules, KeepsToTheLengths) {
  AgreementDataOptions options;
  options.min_words = 3;
  options.max_words = 4;
  EXPECT_TRUE(find("The cat is here.", options).prefixes.empty());
  EXPECT_EQ(find("The old cat is here.", options).prefixes.size(), 1U);
  EXPECT_EQ(find("The very old cat is here.", options).prefixes.size(), 1U);
  EXPECT_TRUE(find("The very, old cat is here.", options).prefixes.empty());
}

// With the other form of the same verb in its place, the verdict is the same.
TEST(AgreementRules, DoNotSeeTheLabel) {
  const Strings kTemplates = {"The key to the cabinets @ old.",
                              "The nurse wants to @ the key.",
                              "In the house @ the cats.",
                              "The cats in the house often @ it.",
                              "There @ a key.",
                              "The cat or the keys @ old.",
                              "If the nurse calls, @ the key.",
                              "The nurse, who @ the authors, fell.",
                              "The house in which @ a cat.",
                              "The law demands that it @ not old.",
                              "Then they @ not here.",
                              "The cells divide and @ not keys.",
                              "And so I @ a cat.",
                              "As if the cat @ not a nurse, it slept.",
                              "The authors of the book @ not so."};
  std::size_t usable = 0;
  for (const auto& [singular, plural] : agreement_verbs()) {
    for (const std::string& form : kTemplates) {
      const std::size_t at = form.find('@');
      Strings prefixes[2];
      for (const bool is_plural : {false, true}) {
        const std::string& verb = is_plural ? plural : singular;
        for (std::string& text : find(form.substr(0, at) + verb + form.substr(at + 1)).prefixes) {
          prefixes[is_plural ? 1 : 0].push_back(text.substr(0, text.find(" -> ")));
        }
      }
      EXPECT_EQ(prefixes[0], prefixes[1]) << form << " with " << singular;
      usable += prefixes[0].size();
    }
  }
  EXPECT_GT(usable, 5 * agreement_verbs().size());
}

TEST(AgreementVerbs, AreFormsOfTheSameVerb) {
  const auto& verbs = agreement_verbs();
  EXPECT_EQ(verbs[0], (std::pair<std::string, std::string>("is", "are")));
  std::map<std::string, std::string> forms(verbs.begin(), verbs.end());
  EXPECT_EQ(forms.size(), verbs.size());
  for (const auto& [singular, plural] : std::vector<std::pair<std::string, std::string>>{{"has", "have"},
                                                                                         {"goes", "go"},
                                                                                         {"carries", "carry"},
                                                                                         {"conveys", "convey"},
                                                                                         {"teaches", "teach"},
                                                                                         {"becomes", "become"},
                                                                                         {"includes", "include"},
                                                                                         {"expresses", ""}}) {
    const auto found = forms.find(singular);
    EXPECT_EQ(found == forms.end() ? "" : found->second, plural) << singular;
  }
}

}  // namespace
}  // namespace attnflow::internal::agreement_rules_test
