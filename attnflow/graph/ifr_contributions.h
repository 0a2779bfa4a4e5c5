// Information flow routes: ALTI head by head (Ferrando & Voita 2024).
//
// Problem. Two heads that write opposite vectors from the same position cancel in T_ij, and ALTI sees nothing, though
// both may matter to whatever reads one of them. How much does each head contribute to the output?
//
// Definition (section 2.2). With u_j^h = v_j^h O^h the vector that head h takes from position j,
//
//     c_ij = sum_h max(0, |y_i|_1 - |y_i - a_ij^h u_j^h|_1) + d_ij max(0, |y_i|_1 - |y_i - x_i|_1).
//
// Norms are handled as in graph/alti_contributions.h. (Ferrando & Voita measure decoders, whose norms come before.)
//
// Needs: the same as ALTI.
// Time: n d^2 for the vectors, and 5 H operations per pair of positions and coordinate; half of that in causal models.
// Memory: that of ALTI, and a tile of n H sums per thread.
//
// References:
//   J. Ferrando and E. Voita, Information Flow Routes: Automatically Interpreting Language Models at Scale, EMNLP 2024:
//     https://aclanthology.org/2024.emnlp-main.965
#pragma once

#include "attnflow/graph/contribution_layer.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

Tensor<double> ifr_contributions(const ContributionLayer& layer);

}  // namespace attnflow::internal
