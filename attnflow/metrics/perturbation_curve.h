// Insertion and deletion curves: is a ranking of a picture's patches faithful to the model?
//
// Problem. A method claims that a class was recognized in certain patches. If so, its probability should fall early
// when they are removed first, and rise early when they are restored first.
//
// Definition (Petsiuk, Das & Saenko, *RISE*, BMVC 2018; Samek et al., IEEE TNNLS 2017). Let pi order the n patches by
// decreasing importance, and f(S) be the probability of a class when the patches in S are removed (blanked).
//
//     deletion:   d_k = f({pi_1 ... pi_k}),        insertion:   i_k = f({pi_(k+1) ... pi_n}),      k = 0 ... n.
//
// Both run over k / n in [0, 1]; the area under each is computed by the trapezoidal rule. A small deletion area and a
// large insertion area speak for the method. Removing the least important patches first gives the insertion curve in
// reverse. An uninformed order has the same expected area for both.
//
// Ties (equal values or enclosures that meet) are shuffled: a method that distinguishes nothing scores like chance.
//
// Pictures without patches are unlike the training data, so curves only compare methods on the same pictures and blank.
//
// References:
//   V. Petsiuk, A. Das and K. Saenko, RISE: Randomized Input Sampling for Explanation of Black-box Models, BMVC 2018:
//     https://arxiv.org/abs/1806.07421
//   W. Samek et al., Evaluating the Visualization of What a Deep Neural Network Has Learned, IEEE Trans. Neural Netw.
//     Learn. Syst. 28, 2017: https://doi.org/10.1109/TNNLS.2016.2599820
//
// Example:
//
//     const std::vector<double> values = {0.1, 0.6, 0.3, 0.2};  // for 4 patches
//     assert((importance_order(values, /*seed=*/1) == std::vector<std::size_t>{1, 2, 3, 0}));
//     const std::vector<std::size_t> points = curve_points(4, 2);  // with 0, 2 and 4 of them blanked
//     const std::vector<double> probabilities = {1.0, 0.5, 0.25};  // of the class, given by the model
//     assert(area_under_curve(points, probabilities) == 0.5625);   // deletion
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attnflow {

// Returns positions by decreasing value, with ties shuffled by `seed`. gaps: empty, or the width of each enclosure;
// those that meet, directly or through others, form one tie. O(n log n). Throws Error(kUsage) for non-finite values or
// gaps, or a different number of gaps.
std::vector<std::size_t> importance_order(std::span<const double> values, std::uint64_t seed,
                                          std::span<const double> gaps = {});

// Returns the number of patches removed (or shown) at each point of a curve: 0 = k_0 < ... < k_s = n, as evenly as
// possible; `steps` is at least 1, and limited to n. Throws Error(kUsage) for no patches or no steps.
std::vector<std::size_t> curve_points(std::size_t n, std::size_t steps);

// Trapezoidal rule over x_j = points[j] / points.back(). Throws Error(kUsage) for different lengths, or fewer than two.
double area_under_curve(std::span<const std::size_t> points, std::span<const double> values);

}  // namespace attnflow
