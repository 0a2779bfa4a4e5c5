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
#include <string>
#include <vector>

#include "attnflow/report/report.h"

namespace attnflow {

// The most that a picture can distinguish.
inline constexpr std::size_t kMaxReferents = 8;

// Throws Error(kUsage) for requests that are wrong for any input: a single word, more than kMaxReferents, an empty one.
void check_referents(const std::vector<std::string>& asked);

// Resolves referents of a report whose settings and input are set, before words are merged. Throws Error(kUsage) for a
// word that does not exist, is ambiguous or is repeated, and for words of several tokens when flow is requested without
// settings.words, since the flow to a word is not the sum of flows to its tokens.
std::vector<ReportReferent> resolve_referents(const std::vector<std::string>& asked, const Report& report);

}  // namespace attnflow
