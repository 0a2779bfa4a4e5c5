// Relevance: reduces a method's matrix V[output_token, input_token] to one number per input token.
//
// Problem. Raw attention, rollout and flow give a value for every pair of output token i and input token j; a reference
// score (importance.h) has one for each j. There are three ways to reduce the matrix:
//
//     of one output token   R_j = V[i, j], where the prediction is read from token i (CLS, mask, last). Used in the
//                           verb-number tables of Abnar & Zuidema (2020), with i = CLS.
//     maximum               R_j = max_i V[i, j], over all output tokens. Used in their SST-2 table.
//     sum                   R_j = sum_i V[i, j].
//
// Layer 1 is a check on all three: rollout there is (1 - rho) W + rho I, so its sums are (1 - rho) times those of raw
// attention plus rho, and rank alike; for one output token i, only R_i changes rank relative to the others.
//
// Enclosures. If V[i, j] is in [V, V + G], R_j is in [R_j, R_j + gap_j]: the maximum lies between the largest low end
// and the largest high end; gaps of a sum add up. Gaps cause ties in rankings (rank_correlation.h).
//
// Selection. select() drops tokens such as [CLS] from relevance, gaps and importance, though not from the matrices.
//
// Cost: O(n^2) for n output and n input tokens. Deterministic: sums start at output token 0. Throws Error(kUsage) for
// shapes that do not match, no output token, an output token out of range, and NaN.
//
// References:
//   S. Abnar and W. Zuidema, Quantifying Attention Flow in Transformers, ACL 2020:
//     https://aclanthology.org/2020.acl-main.385
//
// Example:
//
//     const Tensor<double> values({2, 3}, {0.7, 0.2, 0.1,  // [output_token, input_token]
//                                          0.3, 0.3, 0.4});
//     const Relevance most = relevance(values.view(), {.kind = RelevanceKind::kMaximum});
//     assert((most.values == std::vector<double>{0.7, 0.3, 0.4}));
//     assert((select(most.values, {false, true, true}) == std::vector<double>{0.3, 0.4}));  // without token 0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

enum class RelevanceKind {
  kOutputToken,  // the values of one output token
  kMaximum,      // the largest value over all output tokens
  kSum,          // the sum over all output tokens
};

struct RelevanceOptions {
  RelevanceKind kind = RelevanceKind::kOutputToken;
  std::size_t output_token = 0;  // for kOutputToken: its index in the first dimension
};

struct Relevance {
  std::vector<double> values;  // one per input token
  std::vector<double> gaps;    // one per input token, or empty if the values are exact
};

// `values` is [output_token, input_token]. The result has no gaps.
Relevance relevance(TensorView<const double> values, const RelevanceOptions& options = {});

// Likewise with a gap for each value, in an array of the same shape.
Relevance relevance(TensorView<const double> values, TensorView<const double> gaps,
                    const RelevanceOptions& options = {});

// Returns the values whose mark in `keep`, one per value, is true, in order.
std::vector<double> select(std::span<const double> values, const std::vector<bool>& keep);

Relevance select(const Relevance& relevance, const std::vector<bool>& keep);

}  // namespace attnflow
