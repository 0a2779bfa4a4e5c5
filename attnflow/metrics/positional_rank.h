// Positional rank: how near to the top the deciding word would be in a ranking that knows only word positions.
//
// Problem. If the deciding word is usually in the same place, such as the subject at the beginning, a method that
// prefers early tokens looks right, whatever it measures. Its results must be compared with its positional habit alone.
//
// Definition. Let v_s be a method's values for the words of sample s, divided by sum_w |v_s(w)|, and p(w) the place of
// a word, counted from the start or from the end. The positional ranking of sample s gives each of its words the mean
// of v_t over the other samples t at the same place,
//
//     b_s(w) = mean { v_t(w') : t != s, p(w') = p(w) },
//
// and the method's positional reciprocal rank is the expected reciprocal rank (evaluate/evidence_rank.h) of the
// deciding word by b_s. Words at places that no other sample has come last, as ties. Values that are all 0 stay 0. A
// method is better than its habit to the extent that its own reciprocal rank is higher.
//
// O(words of all samples). Deterministic.
//
// References:
//   This project: docs/edges.md.
//
// Example:
//
//     // Two sentences, with the deciding word first in one and last in the other: preferring early words finds one.
//     const std::vector<RankedWords> samples = {{{0.9, 0.1}, 0}, {{0.8, 0.2}, 1}};
//     const std::vector<double> ranks = positional_reciprocal_ranks(samples, PlaceFrom::kStart);
//     assert(ranks[0] == 1.0 && ranks[1] == 0.5);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attnflow {

enum class PlaceFrom : std::uint8_t { kStart, kEnd };

// A method's values for the words of one sample, in text order, and the index of the deciding word.
struct RankedWords {
  std::vector<double> values;
  std::size_t word = 0;
};

// Returns one value per sample; NaN for a sample without values, which is left out of others' means. Throws
// Error(kUsage) for a word that does not exist, or non-finite values.
std::vector<double> positional_reciprocal_ranks(std::span<const RankedWords> samples, PlaceFrom from);

}  // namespace attnflow
