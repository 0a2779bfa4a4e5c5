// Referents: the words of the input whose weights are compared, as --referents names them.
//
// A request is one of
//   author     the word of that text as the user wrote it, else the only one that equals it but for case (Latin, Greek
//              and Cyrillic letters)
//   author:2   the second word of that text, counted from 1 over both texts of a pair
//   4          the token at that position, counted as --output-token counts it (pieces, from 0)
// With settings.words, or asked by its text, a referent is a whole word; by position, without them, a single piece.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attnflow/report/report.h"

namespace attnflow {

// More could not be told apart in a picture.
inline constexpr std::size_t kMaxReferents = 8;

// Throws Error(kUsage) for what is wrong whatever the input is: one word alone, more than kMaxReferents, an empty one.
void check_referents(const std::vector<std::string>& asked);

// The referents of a report whose settings and input are set, with positions of tokens that are not merged yet. Throws
// Error(kUsage): a word that is not there, is there several times, or is asked for twice; words of several pieces when
// flow is wanted without settings.words, since the flow to a word is not the sum of the flows to its pieces.
std::vector<ReportReferent> resolve_referents(const std::vector<std::string>& asked, const Report& report);

}  // namespace attnflow
