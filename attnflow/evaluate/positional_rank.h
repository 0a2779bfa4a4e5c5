// How near would a ranking come to the deciding word that knows nothing but where words stand?
//
// Problem. In many sets of sentences the deciding word stands in about the same place, such as the subject at the
// beginning. A method that likes early tokens then looks right, whatever it measures. What a method finds must be held
// against what its own habit of position finds.
//
// Definition. Let v_s be a method's values of the words of sample s, divided by sum_w |v_s(w)|, and p(w) the place of a
// word, counted from the start or from the end. The ranking of sample s by position gives each of its words the mean of
// v_t over the other samples t at the same place,
//
//     b_s(w) = mean { v_t(w') : t != s, p(w') = p(w) },
//
// and the method's positional reciprocal rank is the expected reciprocal rank (evaluate/evidence_rank.h) of the
// deciding word by b_s. Words at places that no other sample has come last, as ties. A method is better than its
// habits as far as its own reciprocal rank is higher.
//
// O(words of all samples). Deterministic.
//
// References:
//   This project: docs/edges.md.
//
// Example:
//
//     // Two sentences, the deciding word first in one and last in the other: a habit of early words finds one.
//     const std::vector<RankedWords> samples = {{{0.9, 0.1}, 0}, {{0.8, 0.2}, 1}};
//     const std::vector<double> ranks = positional_reciprocal_ranks(samples, PlaceFrom::kStart);
//     assert(ranks[0] == 1.0 && ranks[1] == 0.5);
#ifndef ATTNFLOW_EVALUATE_POSITIONAL_RANK_H_
#define ATTNFLOW_EVALUATE_POSITIONAL_RANK_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attnflow {

enum class PlaceFrom : std::uint8_t { kStart, kEnd };

// A method's values of the words of one sample, in the order of the text, and which of them decides.
struct RankedWords {
  std::vector<double> values;
  std::size_t word = 0;
};

// One a sample. A sample without values has NaN and takes no part in others' means. Throws Error(kUsage) for a word
// that is not there, or values that are not finite.
std::vector<double> positional_reciprocal_ranks(std::span<const RankedWords> samples, PlaceFrom from);

}  // namespace attnflow

#endif  // ATTNFLOW_EVALUATE_POSITIONAL_RANK_H_
