// Learns from text which English words are nouns, and their number.
//
// The text itself, not a dictionary, shows which nouns are countable. A pair (singular s, plural p) is accepted when p
// is a plural form of s (-s, -es, -ies, -ves, or a pair from the short list of irregular ones) and, counting how often
// a word directly follows another,
//   s occurs at least 3 times after a word that only a singular can follow (a, an, another, each, every),
//   and p occurs at least 3 times in the text, and both occur more often after words that introduce a noun phrase
//   (the, of, its, many, ...) than, 2 to 1, after words that introduce a verb (to, they, it, who, can, ...).
// Nouns without such a pair (information, police, physics) get their number from the verbs after them: for a word that
// occurs at least 12 times directly before is, was, has / are, were, have, at least 85% of them must agree. Words that
// are the same in both numbers (species, series, sheep) and function words have no number.
#pragma once

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
  // Returns the number of a lower-case word; kUnknown when it is not a noun in the lexicon. O(1).
  GrammaticalNumber number(std::string_view word) const;

  // Countable nouns, most frequent first (equal counts: by singular).
  const std::vector<NounPair>& pairs() const { return pairs_; }
  // Number of words with a known number, including those without a pair.
  std::size_t size() const { return numbers_.size(); }

 private:
  friend class NounLexiconBuilder;
  internal::TextMap<GrammaticalNumber> numbers_;
  std::vector<NounPair> pairs_;
};

// Builds the lexicon from whole documents. Deterministic; time O(bytes), memory O(distinct words).
class NounLexiconBuilder {
 public:
  void add(const ProseDocument& document);
  NounLexicon build() const;

 private:
  void add(const std::vector<ProseWord>& sentence);

  struct Counts {
    std::size_t total = 0;
    std::size_t after_singular = 0;  // after a word that only a singular follows
    std::size_t after_noun_cue = 0;
    std::size_t after_verb_cue = 0;
    std::size_t before_end = 0;  // before punctuation or a function word
    std::size_t before_singular_verb = 0;
    std::size_t before_plural_verb = 0;
  };
  std::unordered_map<std::string, Counts> counts_;
};

}  // namespace attnflow
