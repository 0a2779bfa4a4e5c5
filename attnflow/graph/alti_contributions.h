// ALTI: how much closer a position brings another's output to its final value (Ferrando, Gállego & Costa-jussà 2022).
//
// Problem. A vector's length does not show whether it helps: two long ones may cancel each other, and one may point
// away from the output. How much does it contribute to the output?
//
// Definition (section 3.2). With F_ij the vector that position j gives to position i, including d_ij x_i
// (graph/contribution_mixing.h),
//
//     c_ij = max(0, |y_i|_1 - |y_i - F_ij|_1),
//
// so a position counts by how much closer its vector is to the output than the zero vector is, and not at all if it is
// farther away. In layers whose norm comes after the block, y_i is the norm's result, including its shift. The L1 norm
// is the authors' choice: a coordinate counts by its size, not by its square.
//
// Needs: values, output projection, residual, output; the norm after the block, if there is one. Time: n d^2 for the
// vectors v_j^h O^h, and H + 4 operations per pair of positions and coordinate; half of that in causal models. Memory:
// two copies of the outputs, and one tile per thread.
//
// References:
//   J. Ferrando, G. I. Gállego and M. R. Costa-jussà, Measuring the Mixing of Contextual Information in the
//     Transformer, EMNLP 2022: https://aclanthology.org/2022.emnlp-main.595
#pragma once

#include "attnflow/graph/contribution_layer.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

// Returns c_ij, [query, position]; `layer` must have kFirst and the values of all positions.
Tensor<double> alti_contributions(const ContributionLayer& layer);

}  // namespace attnflow::internal
