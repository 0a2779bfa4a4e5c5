// Reciprocal rank: how near to the top a method ranks the word that decides the answer.
//
// Problem. A method gives a sentence's words values. How near to the top is the deciding word, relative to chance?
//
// Definition. The reciprocal rank is 1 / r, where r is the word's position by decreasing value. Words with equal values
// (or closer than their error) have no order: among k such words, the positions r, ..., r + k - 1 are equally probable,
// and the expected reciprocal rank is
//
//     (1/r + 1/(r+1) + ... + 1/(r+k-1)) / k.
//
// A method that gives every word the same value thus scores like a random order, (1 + 1/2 + ... + 1/n) / n, not 1. The
// mean over sentences is the mean reciprocal rank (Voorhees, TREC-8, 1999).
//
// References:
//   E. M. Voorhees, The TREC-8 Question Answering Track Report, 1999:
//     https://trec.nist.gov/pubs/trec8/papers/qa_report.pdf
//
// Example:
//
//     const std::vector<double> values = {0.2, 0.5, 0.3};
//     assert(expected_reciprocal_rank(values, 2) == 0.5);                               // second of three words
//     assert(expected_reciprocal_rank(std::vector<double>{0.5, 0.5, 0.1}, 0) == 0.75);  // first or second
//     std::printf("by chance: %.2f\n", random_reciprocal_rank(3));                      // 0.61
#pragma once

#include <cstddef>
#include <span>

namespace attnflow {

// Returns the expected reciprocal rank of values[word]. gaps: empty, or the width of each value's enclosure [value,
// value + gap]. Ties have enclosures that meet the word's own; unlike in evaluate/rank_correlation.h, chains do not
// count. O(n). Throws Error(kUsage) for a word that does not exist, a different number of gaps, or a non-finite value.
double expected_reciprocal_rank(std::span<const double> values, std::size_t word, std::span<const double> gaps = {});

// Returns the expected reciprocal rank in a random order of n >= 1 words.
double random_reciprocal_rank(std::size_t n);

}  // namespace attnflow
