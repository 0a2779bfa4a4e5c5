// Importance of each input token to a model's output: the references that attention-based methods are compared with.
//
// Problem. A model computes a number y for an input (a class probability, a logit, a difference of two). Which input
// tokens does y depend on? These scores do not use attention, only the input and the output. Three are common; their
// formulas are here, and the caller runs the model.
//
// Blank-out (Abnar & Zuidema, 2020, section 4). Replace token j by an uninformative token (UNK, MASK) and measure the
// change of y: |y - y_j|. This costs one run of the model per token and measures its actual behavior, but for only one
// token at a time (of two tokens with the same meaning, neither counts).
//
// Gradient. Let g[j, d] = dy / de[j, d], with e[j, :] the embedding of token j, for n tokens of `width` dimensions,
// both in float32 as a backward pass computes them. One backward pass gives all tokens; it is the slope at the input
// itself and says nothing about the effect of replacing a token entirely.
//   * L2 norm: sqrt(sum_d g[j, d]^2), the rate at which y changes when e[j] moves in the worst direction. The default.
//   * gradient x input: sum_d g[j, d] e[j, d] (Denil et al., 2014), the first-order estimate of the decrease when e[j]
//     is set to zero; signed, or its absolute value.
//   * sum: |sum_d g[j, d]|, as computed by the code of Abnar & Zuidema. Layer normalization subtracts the mean over d,
//     so if every path from e to y begins with one (pre-layer-norm models; embeddings before their own norm), the sum is
//     zero. The computed value is then rounding noise, whose ranking looks like any other. For replication only, and
//     never without checking `is_rounding_noise`.
//
// Noise bound of the sum. Each g[j, d] results from inner products over about `width` terms in float32. With u = 2^-24,
// their relative error is about sqrt(width) u (Higham & Mary, 2019: rounding errors behave like independent random
// ones), and in the worst case the errors of a token's dimensions add up:
//
//     bound_j = 2 sqrt(width) u sum_d |g[j, d]|.
//
// `is_rounding_noise` means that the largest |sum| over the tokens is at most kNoiseFactor times the largest bound. The
// factor accounts for the layers that errors pass through and for values that cancel inside; random signs give about
// 10,000 bounds at width 768. The largest values are compared because a token with a tiny gradient carries the noise of
// the others.
//
// Shapes are [n, width] with n >= 1 and width >= 1; results have n values. Sums are in double precision. Cost: O(n
// width). Deterministic. Throws Error (kUsage) for other shapes, and for values that are not finite (a model that
// overflowed).
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

// Returns |base - blanked[j]|: `base` is the output for the whole input, blanked[j] the one with token j replaced.
std::vector<double> blank_out_importance(double base, std::span<const double> blanked);

// The L2 norm of each token's gradient.
std::vector<double> gradient_norm(TensorView<const float> gradient);

enum class Sign { kSigned, kAbsolute };

// The inner product of each token's gradient with its embedding.
std::vector<double> gradient_times_input(TensorView<const float> gradient, TensorView<const float> embedding,
                                         Sign sign = Sign::kSigned);

// The number of bounds (see above) that the largest sum must exceed to count as more than noise.
inline constexpr double kNoiseFactor = 8;

struct GradientSum {
  std::vector<double> scores;      // |sum_d g[j, d]|
  double largest = 0;              // the largest of them
  double noise_bound = 0;          // the largest bound_j
  bool is_rounding_noise = false;  // largest <= kNoiseFactor * noise_bound: the order of the scores is meaningless
};

GradientSum gradient_sum(TensorView<const float> gradient);

}  // namespace attnflow
