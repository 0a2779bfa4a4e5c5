// Is a ranking of a picture's patches faithful to the model? Insertion and deletion curves.
//
// Problem. A method says which patches a class was seen in. If that is so, the class's probability should fall early
// when those patches are removed first, and rise early when they come back first.
//
// Definition (Petsiuk, Das & Saenko, *RISE*, BMVC 2018; Samek et al., IEEE TNNLS 2017). Let pi order the n patches by
// falling importance, and f(S) be the probability of a class when the patches in S are removed (shown as blank).
//
//     deletion:   d_k = f({pi_1 ... pi_k}),        insertion:   i_k = f({pi_(k+1) ... pi_n}),      k = 0 ... n.
//
// Both run over k / n in [0, 1]; the area under each is taken by the trapezoidal rule. A small area under the deletion
// curve and a large one under the insertion curve speak for the method. Removing the least important patches first
// gives the insertion curve read backwards, so it has the same area and is not a third curve. An order that knows
// nothing gives the same expected area for both.
//
// Ties have no order: patches of equal value (or with overlapping enclosures [value, value + gap]) are shuffled, so
// that a method which says nothing scores like a random order.
//
// Removed patches put a picture out of what the model was trained on, whatever stands in their place; curves compare
// methods on the same pictures with the same blank, and say little by themselves.
//
// References:
//   V. Petsiuk, A. Das and K. Saenko, RISE: Randomized Input Sampling for Explanation of Black-box Models, BMVC 2018:
//     https://arxiv.org/abs/1806.07421
//   W. Samek et al., Evaluating the Visualization of What a Deep Neural Network Has Learned, IEEE Trans. Neural Netw.
//     Learn. Syst. 28, 2017: https://doi.org/10.1109/TNNLS.2016.2599820
//
// Example:
//
//     const std::vector<double> values = {0.1, 0.6, 0.3, 0.2};  // of 4 patches
//     assert((importance_order(values, /*seed=*/1) == std::vector<std::size_t>{1, 2, 3, 0}));
//     const std::vector<std::size_t> points = curve_points(4, 2);  // 0, 2 and 4 of them blank
//     const std::vector<double> probabilities = {1.0, 0.5, 0.25};  // which the model gives the class then
//     assert(area_under_curve(points, probabilities) == 0.5625);   // deletion
#ifndef ATTNFLOW_EVALUATE_PERTURBATION_CURVE_H_
#define ATTNFLOW_EVALUATE_PERTURBATION_CURVE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attnflow {

// Positions by falling value, ties shuffled by `seed`. gaps: empty, or the width of each value's enclosure;
// patches whose enclosures meet, directly or by way of others, are one tie. O(n log n). Throws Error(kUsage): a value
// or gap that is not finite, or another number of gaps.
std::vector<std::size_t> importance_order(std::span<const double> values, std::uint64_t seed,
                                          std::span<const double> gaps = {});

// How many patches are removed (or shown) at each point of a curve: 0 = k_0 < ... < k_s = n, as even as they can be;
// `steps` from 1, and no more than n. Throws Error(kUsage) for no patch or no step.
std::vector<std::size_t> curve_points(std::size_t n, std::size_t steps);

// The trapezoidal rule over x_j = points[j] / points.back(). Throws Error(kUsage) unless there are as many values as
// points, at least two.
double area_under_curve(std::span<const std::size_t> points, std::span<const double> values);

}  // namespace attnflow

#endif  // ATTNFLOW_EVALUATE_PERTURBATION_CURVE_H_
