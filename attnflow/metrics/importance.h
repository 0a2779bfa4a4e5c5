// Importance of each input token to a model's output: references for attention-based methods.
//
// Problem. A model computes a number y for an input (a class probability, a logit, a difference of two). Which input
// tokens does y depend on? Three common scores use only input and output, not attention. The caller runs the model.
//
// Blank-out (Abnar & Zuidema, 2020, section 4): |y - y_j|, with token j replaced by an uninformative one (UNK, MASK).
// One run per token measures actual behavior, but of one token at a time (of two synonymous tokens, neither counts).
//
// Gradient. Let g[j, d] = dy / de[j, d], with e[j, :] the embedding of token j, for n tokens of `width` dimensions,
// both in float32. One backward pass gives all tokens: slopes at the input, which say nothing about replacing a token.
//   * L2 norm: sqrt(sum_d g[j, d]^2), the rate at which y changes when e[j] moves in the worst direction. The default.
//   * gradient x input: sum_d g[j, d] e[j, d] (Denil et al., 2014), the first-order estimate of the decrease when e[j]
//     is set to zero; signed, or its absolute value.
//   * sum: |sum_d g[j, d]|, as in the code of Abnar & Zuidema. Layer normalization subtracts the mean over d, so the
//     sum is zero if every path from e to y begins with one (pre-layer-norm models; embeddings before their own norm).
//     The computed value is then rounding noise, whose ranking looks like any other. For replication only, and never
//     without checking `is_rounding_noise`.
//
// Noise bound of the sum. Each g[j, d] results from inner products over about `width` terms in float32, with a relative
// error of about sqrt(width) u, u = 2^-24 (Higham & Mary, 2019: rounding errors behave like independent random ones).
// In the worst case the errors of a token's dimensions add up:
//
//     bound_j = 2 sqrt(width) u sum_d |g[j, d]|.
//
// `is_rounding_noise`: the largest |sum| over the tokens is at most kNoiseFactor times the largest bound. The factor
// accounts for the layers that errors pass through and for cancellation; random signs give about 10,000 bounds at width
// 768. Only the largest values count because a token with a tiny gradient carries the noise of the others.
//
// Shapes are [n, width] with n >= 1 and width >= 1; results have n values. Sums are float64. Cost: O(n width).
// Deterministic. Throws Error(kUsage) for other shapes and non-finite values.
//
// References:
//   S. Abnar and W. Zuidema, Quantifying Attention Flow in Transformers, ACL 2020:
//     https://aclanthology.org/2020.acl-main.385
//   M. Denil, A. Demiraj and N. de Freitas, Extraction of Salient Sentences from Labelled Documents, 2014:
//     https://arxiv.org/abs/1412.6815
//   N. J. Higham and T. Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019:
//     https://doi.org/10.1137/18M1226312
//
// Example:
//
//     // A class has probability 0.75; without token 0, 1, 2 it has 0.75, 0.25, 0.875.
//     const std::vector<double> blank_out = blank_out_importance(0.75, std::vector<double>{0.75, 0.25, 0.875});
//     assert((blank_out == std::vector<double>{0.0, 0.5, 0.125}));
//     const Tensor<float> slopes({3, 2}, {0.0F, 0.0F, 3.0F, 4.0F, 0.0F, -1.0F});  // [token, dimension]
//     assert((gradient_norm(slopes.view()) == std::vector<double>{0.0, 5.0, 1.0}));
#pragma once

#include <span>
#include <vector>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Returns |base - blanked[j]|; blanked[j] is the output with token j replaced.
std::vector<double> blank_out_importance(double base, std::span<const double> blanked);

std::vector<double> gradient_norm(TensorView<const float> gradient);

enum class Sign { kSigned, kAbsolute };

std::vector<double> gradient_times_input(TensorView<const float> gradient, TensorView<const float> embedding,
                                         Sign sign = Sign::kSigned);

// The largest sum must exceed this many bounds to count as more than noise.
inline constexpr double kNoiseFactor = 8;

struct GradientSum {
  std::vector<double> scores;      // |sum_d g[j, d]|
  double largest = 0;              // the largest of them
  double noise_bound = 0;          // the largest bound_j
  bool is_rounding_noise = false;  // largest <= kNoiseFactor * noise_bound: the order of the scores is meaningless
};

GradientSum gradient_sum(TensorView<const float> gradient);

}  // namespace attnflow
