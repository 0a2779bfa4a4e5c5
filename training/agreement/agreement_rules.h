// Decides which verbs of an English sentence give an example for subject-verb agreement: the rules of agreement_data.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "training/agreement/agreement_data.h"
#include "training/agreement/noun_lexicon.h"
#include "training/agreement/prose.h"

namespace attnflow::internal {

// A verb that gives an example. The prefix is words [0, word) of the sentence.
struct AgreementSite {
  std::size_t word = 0;
  bool plural = false;
  bool attractor = false;
  bool pronoun_subject = false;
};

// Properties of a word independent of its neighbors, as bits.
using WordClass = std::uint32_t;

class AgreementRules {
 public:
  // Keeps references to both arguments.
  AgreementRules(const AgreementDataOptions& options, const NounLexicon& lexicon);

  // Appends the usable verbs of a sentence, in order, to `sites`, and counts everything else in `counts`.
  void find(std::string_view sentence, const std::vector<ProseWord>& words, std::vector<AgreementSite>& sites,
            AgreementCounts& counts);

 private:
  struct Verb {
    enum class Kind { kBe, kPastBe, kHave, kDo, kParticiple, kLexical } kind;
    bool plural;
  };
  struct Context {
    std::size_t verb = 0;
    std::size_t before = 0;   // the first word before the verb that is not an adverb, a comma or in brackets
    bool comma = false;       // a comma, a dash or brackets between them
    std::size_t segment = 0;  // first word after the clause boundary before the verb
  };
  // The count of the rule that excludes a verb; kUsable: no rule does.
  using Verdict = std::size_t AgreementCounts::*;
  static constexpr Verdict kUsable = nullptr;

  bool is_sentence(std::string_view sentence) const;
  Verdict judge(std::size_t at, const Verb& verb, bool& pronoun_subject);
  Verdict judge_surroundings(std::size_t at, const Verb& verb) const;
  Verdict find_before(std::size_t at, Context& context) const;
  Verdict judge_before(const Context& context, const Verb& verb, bool& pronoun_subject) const;
  Verdict judge_relative(const Context& context) const;
  Verdict judge_segment(const Context& context, const Verb& verb) const;
  bool may_be_base_form(const Context& context, const Verb& verb) const;
  bool is_adverb(std::size_t at) const;
  bool is_nominal(std::size_t at) const;
  bool may_be_noun(std::size_t at) const;
  bool is_capitalized(std::size_t at) const;
  bool has(std::size_t at, WordClass classes) const { return (classes_[at] & classes) != 0; }
  bool any(std::size_t begin, std::size_t end, WordClass classes) const;
  const std::string& text(std::size_t at) const { return (*words_)[at].text; }

  const AgreementDataOptions& options_;
  const NounLexicon& lexicon_;
  std::unordered_map<std::string_view, WordClass> word_classes_;
  std::unordered_map<std::string_view, Verb> verbs_;
  std::unordered_set<std::string_view> placeholders_;

  std::string_view sentence_;
  const std::vector<ProseWord>* words_ = nullptr;
  std::vector<WordClass> classes_;          // of each word
  std::vector<GrammaticalNumber> numbers_;  // of each word
};

}  // namespace attnflow::internal
