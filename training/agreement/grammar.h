// Generates sentences for subject-verb agreement from a small grammar, with nouns from a lexicon.
//
// Prose has few prefixes in which a noun of the other number occurs between subject and verb; a grammar generates any
// number. Its sentences are grammatical but meaningless. A training recipe mixes in a share of them and says so; they
// are never part of validation or test.
//
//   prefix      := subject adverb?
//   subject     := phrase(n) tail(n)                                   number n
//                | phrase(any) "and" phrase(any)                       plural
//   tail(n)     := modifier | modifier modifier | modifier relative | relative
//   modifier    := preposition phrase(any)                             of, to, near, in, behind, with, ...
//   relative    := "that"|"who" verb(n) phrase(any)                    subject relative clause
//                | "that" phrase(m) verb(m)                            object relative clause
//                | "that" phrase(m) past                               the same in the past tense, which has no number
//   phrase(n)   := determiner(n) adjective? noun(n)
//
// n and m are singular or plural. verb(n) agrees with n. Half of the examples have an attractor (the last noun differs
// in number from the verb), and in each half singular and plural are equally frequent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "training/agreement/agreement_data.h"
#include "training/agreement/noun_lexicon.h"

namespace attnflow {

struct GrammarOptions {
  std::size_t count = 0;  // examples
  std::uint64_t seed = 1;
  std::size_t nouns = 2000;  // uses this many of the lexicon's most frequent pairs
};

// Returns `count` examples with source "grammar", whose verb is the form of "to be" that would follow. The counts of
// the four kinds (singular or plural, with or without attractor) differ by at most one. Deterministic; O(count). Throws
// Error(kBadFile) when the lexicon has fewer than 20 pairs, because the text was too short.
std::vector<AgreementExample> grammar_examples(const NounLexicon& lexicon, const GrammarOptions& options);

}  // namespace attnflow
