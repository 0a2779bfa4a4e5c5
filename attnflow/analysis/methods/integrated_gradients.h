// Integrated gradients: a prediction's change from a blank input to this one, shared out among the tokens.
//
// Definition (Sundararajan, Taly & Yan 2017). With e_j the embedding that the first layer is given at position j, e'_j
// that of the blank input, and F the target's value,
//
//     s_j = (e_j - e'_j) . integral from 0 to 1 of dF/de_j (e' + t (e - e')) dt,
//     sum_j s_j = F(e) - F(e').
//
// The blank input is this one with every token that stands for something replaced by the token of blank-out (special
// tokens and the mask stay, as captum's tutorials for BERT have it), and of a picture the blank picture: so its
// positions and segments are those of the input, which the differences e_j - e'_j leave out.
//
// Method. Gauss-Legendre quadrature with `steps` points, captum's default rule: exact for polynomials of degree
// 2 steps - 1. What the sum misses is the report's MethodScores::error(), and says whether the steps were enough.
//
// Cost: `steps` + 2 passes forward and back, in batches. Deterministic.
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

// For models whose gradients can be taken at other embeddings (check_methods() says so). Throw as
// check_integration_steps(); Error(kUsage) without a blank input; and as Gradients::input_gradients() does.
IntegratedGradients integrated_gradients(const TextQuestion& question);
IntegratedGradients integrated_gradients(const ImageQuestion& question);

// Points in (0, 1), increasing, and weights that add up to 1: the integral of a polynomial of degree 2 count - 1 over
// [0, 1] is the weighted sum of its values there. Newton's method on Legendre polynomials: O(count^2).
std::vector<std::pair<double, double>> gauss_legendre(std::size_t count);

}  // namespace attnflow
