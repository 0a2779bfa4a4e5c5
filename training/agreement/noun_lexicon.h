// Which English words are nouns, and their number, learnt from text.
//
// No dictionary is needed: text itself shows what is a countable noun. A pair (singular s, plural p) is accepted when p
// is a plural form of s (-s, -es, -ies, -ves, or a pair of the short list of irregular ones) and, with counts of how
// often a word stands directly behind another,
//   s stands at least 3 times behind a word that only a singular can follow (a, an, another, each, every),
//   and p stands at least 3 times in the text, and both stand more often behind words that introduce a noun
//   phrase (the, of, its, many, ...) than, 2 to 1, behind words that introduce a verb (to, they, it, who,
//   can, ...).
// Nouns without such a pair (information, police, physics) get their number from the verbs behind them: of a word that
// stands at least 12 times directly before is, was, has / are, were, have, at least 85% of them
// must agree. Words that are the same in both numbers (species, series, sheep) and function words have no number.
#ifndef ATTNFLOW_TRAINING_AGREEMENT_NOUN_LEXICON_H_
#define ATTNFLOW_TRAINING_AGREEMENT_NOUN_LEXICON_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "training/agreement/prose.h"
#include "training/agreement/word_lists.h"

namespace attnflow {

enum class GrammaticalNumber { kUnknown, kSingular, kPlural };

struct NounPair {
  std::string singular;
  std::string plural;
  std::size_t count = 0;  // occurrences of both
};

class NounLexicon {
 public:
  // The number of a word in lower case; kUnknown when it is no noun of the lexicon. O(1).
  GrammaticalNumber number(std::string_view word) const;

  // Countable nouns, the most frequent first (equal counts: by singular).
  const std::vector<NounPair>& pairs() const { return pairs_; }
  // Number of words with a number, those without a pair included.
  std::size_t size() const { return numbers_.size(); }

 private:
  friend class NounLexiconBuilder;
  internal::TextMap<GrammaticalNumber> numbers_;
  std::vector<NounPair> pairs_;
};

// The lexicon of whole documents. Deterministic; time O(bytes), memory O(distinct words).
class NounLexiconBuilder {
 public:
  void add(const ProseDocument& document);
  NounLexicon build() const;

 private:
  void add(const std::vector<ProseWord>& sentence);

  struct Counts {
    std::size_t total = 0;
    std::size_t after_singular = 0;  // behind a word that only a singular follows
    std::size_t after_noun_cue = 0;
    std::size_t after_verb_cue = 0;
    std::size_t before_end = 0;  // before punctuation or a function word
    std::size_t before_singular_verb = 0;
    std::size_t before_plural_verb = 0;
  };
  std::unordered_map<std::string, Counts> counts_;
};

}  // namespace attnflow

#endif  // ATTNFLOW_TRAINING_AGREEMENT_NOUN_LEXICON_H_
