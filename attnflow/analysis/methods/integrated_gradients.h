// Integrated gradients: a prediction's change from a blank input to this one, shared out among the tokens.
//
// Definition (Sundararajan, Taly & Yan 2017). With e_j the first layer's input embedding at position j, e'_j the blank
// input's, and F the target's value,
//
//     s_j = (e_j - e'_j) . integral from 0 to 1 of dF/de_j (e' + t (e - e')) dt,
//     sum_j s_j = F(e) - F(e').
//
// The blank input has blank-out's token in place of every token that stands for something (special tokens and the mask
// stay, as in captum's tutorials for BERT), or is the blank picture. Its positions and segments cancel in e_j - e'_j.
//
// Method. Gauss-Legendre quadrature with `steps` points, captum's default rule: exact for polynomials up to the degree
// 2 steps - 1. MethodScores::error() is what the sum misses, and shows whether the steps were enough.
//
// Cost: `steps` + 2 forward and backward passes, in batches. Deterministic.
//
// References:
//   M. Sundararajan, A. Taly and Q. Yan, Axiomatic Attribution for Deep Networks, ICML 2017:
//     https://arxiv.org/abs/1703.01365
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "attnflow/analysis/methods/method_question.h"

namespace attnflow {

inline constexpr std::size_t kMaxIntegrationSteps = 10'000;

// Throws Error(kUsage) for steps that are not from 1 to kMaxIntegrationSteps.
void check_integration_steps(std::size_t steps);

struct IntegratedGradients {
  std::vector<double> scores;  // one a group
  double change = 0.0;         // F(e) - F(e'), what they add up to but for the quadrature's error
};

// For models whose gradients can be taken at other embeddings (see check_methods()). Throw as
// check_integration_steps(); Error(kUsage) without a blank input; and as Gradients::input_gradients() does.
IntegratedGradients integrated_gradients(const TextQuestion& question);
IntegratedGradients integrated_gradients(const ImageQuestion& question);

// Points in (0, 1), increasing, and weights that add up to 1: the integral of a polynomial of degree 2 count - 1 over
// [0, 1] is the weighted sum of its values there. Newton's method on Legendre polynomials: O(count^2).
std::vector<std::pair<double, double>> gauss_legendre(std::size_t count);

}  // namespace attnflow
