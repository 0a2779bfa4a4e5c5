// Rank correlation between two scores of the same tokens.
//
// Problem. A method's relevance of tokens and a reference's importance differ in units and distribution. Do they order
// the tokens alike? Replace values by ranks and correlate the ranks (Spearman, 1904):
//
//     rho = sum_i (r_i - mean r) (s_i - mean s) / sqrt(sum_i (r_i - mean r)^2  sum_i (s_i - mean s)^2),
//
// where r and s are *average ranks*: 1 for the smallest value, with ties sharing the mean of the ranks that they
// occupy, as in scipy.stats.spearmanr. A vector whose values are all tied has no order and therefore no correlation; it
// is counted separately, not scored 0.
//
// Replication. The code of Abnar & Zuidema (2020) puts *dense ranks* (1, 2, 3, ... for the distinct values) into
//
//     rho' = 1 - 6 sum_i (r_i - s_i)^2 / (n (n^2 - 1)),
//
// which equals rho only without ties. Ties make dense ranks small relative to n, which pulls rho' toward 1: (1, 1, 2)
// against (2, 2, 1) gives 0.25, although the orders are opposite. kDenseRanks computes it, for comparison with theirs.
//
// Ties of enclosures. A value may be known only to lie in [v, v + gap], as for flow. Values whose enclosures share a
// point are tied. Since ties must be transitive, a *tie group* is a connected component of the enclosures on the line:
// sorted by v, a value joins the group before it if v <= the largest v' + gap' in that group, else it starts the next.
// Groups do not depend on the input's order. A chain of enclosures ties its two ends even if these do not overlap.
//
// Cost: O(n log n) time, O(n) memory. Deterministic. All functions throw Error(kUsage) for NaN, different lengths, and
// negative or non-finite gaps. Infinite values are ranked like others.
//
// References:
//   C. Spearman, The Proof and Measurement of Association between Two Things, American J. of Psychology 15, 1904:
//     https://doi.org/10.2307/1412159
//   S. Abnar and W. Zuidema, Quantifying Attention Flow in Transformers, ACL 2020:
//     https://aclanthology.org/2020.acl-main.385
//
// Example:
//
//     const std::vector<double> relevances = {0.1, 0.4, 0.2, 0.3};
//     const std::vector<double> importances = {1.0, 9.0, 2.0, 2.0};
//     assert((average_ranks(importances) == std::vector<double>{1.0, 4.0, 2.5, 2.5}));
//     const std::optional<double> rho = spearman(relevances, importances);
//     if (rho) std::printf("%.3f\n", *rho);  // 0.949
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace attnflow {

// Returns ranks from 1 by increasing value; a tie group's members get the mean of its ranks (multiples of 1/2). `gaps`
// is empty (all 0) or has one gap per value.
std::vector<double> average_ranks(std::span<const double> values, std::span<const double> gaps = {});

// Returns the index of each value's tie group, from 1 by increasing value.
std::vector<double> dense_ranks(std::span<const double> values, std::span<const double> gaps = {});

// Returns Pearson's correlation in [-1, 1], or nothing if all values of a vector are equal. Finite values.
std::optional<double> pearson(std::span<const double> first, std::span<const double> second);

enum class SpearmanFormula {
  kStandard,    // Pearson's correlation of average ranks
  kDenseRanks,  // dense ranks in the formula for vectors without ties: for replication only
};

struct SpearmanOptions {
  SpearmanFormula formula = SpearmanFormula::kStandard;
  // Gaps of both vectors, or empty. Used only during the call.
  std::span<const double> first_gaps = {};
  std::span<const double> second_gaps = {};
};

// Returns Spearman's correlation in [-1, 1] (kStandard), or nothing for fewer than two values or a vector that is all
// ties. Equal orders give exactly 1, opposite orders exactly -1 (kStandard).
std::optional<double> spearman(std::span<const double> first, std::span<const double> second,
                               const SpearmanOptions& options = {});

}  // namespace attnflow
