// Referents: the words whose weights are compared, named by --referents.
//
// A request is one of
//   author     the word with that text as the user wrote it, else the only one that differs just in case (Latin, Greek
//              and Cyrillic letters)
//   author:2   the second word of that text, counted from 1 over both texts of a pair
//   4          the token at that position, counted as --output-token does (subword tokens, from 0)
// With settings.words, or named by text, a referent is a whole word; otherwise a single subword token.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/option.h"
#include "attnflow/report/report.h"

namespace attnflow {

// The most that a picture can distinguish.
inline constexpr std::size_t kMaxReferents = 8;

// A word, and which of its occurrences, counted from 1.
struct WordReading {
  std::string word;
  std::optional<std::size_t> count;  // none: the only one
};

// A request, taken apart. The words of the text decide which reading holds: the first whose word occurs.
struct AskedReferent {
  std::string text;                     // as the user wrote it
  std::vector<WordReading> readings;    // "author:2" as a word, and as the second "author"
  std::optional<std::size_t> position;  // the number that it is
};

// The conversions of the option referents; a single word, more than kMaxReferents and an empty one throw Error(kUsage).
OptionValue to_value(const std::vector<AskedReferent>& asked);
void from_value(const OptionValue& from, std::vector<AskedReferent>& asked);

// Resolves referents of a report whose settings and input are set, before words are merged. Throws Error(kUsage) for a
// word that does not exist, is ambiguous or is repeated, and for words of several tokens when flow is requested without
// settings.words, since the flow to a word is not the sum of flows to its tokens.
std::vector<ReportReferent> resolve_referents(const std::vector<AskedReferent>& asked, const Report& report);

}  // namespace attnflow
