// ALTI: how much nearer a position brings another's output (Ferrando, Gállego & Costa-jussà 2022).
//
// Problem. The length of a vector does not say whether it helps: two long ones may cancel each other, and one may point
// away from where the output lies. How much of the output is it?
//
// Definition (section 3.2). With F_ij what position j gives position i, d_ij x_i included
// (graph/contribution_mixing.h),
//
//     c_ij = max(0, |y_i|_1 - |y_i - F_ij|_1),
//
// so a position counts by how far the output moves when it is taken away, and not at all when the output grows by that.
// In layers whose norm comes after, y_i is what the norm makes of it, its shift included. The L1 norm is theirs: it
// lets a coordinate count by its size, not by its square.
//
// Needs: values, output projection, residual, output; the norm behind the block if there is one.
// Time: n d^2 for the vectors v_j^h O^h, and H + 4 operations a pair of positions and coordinate; causal models half of
// that. Memory: two copies of the outputs, and a tile a thread.
//
// References:
//   J. Ferrando, G. I. Gállego and M. R. Costa-jussà, Measuring the Mixing of Contextual Information in the
//   Transformer,
//     EMNLP 2022: https://aclanthology.org/2022.emnlp-main.595
#ifndef ATTNFLOW_GRAPH_ALTI_CONTRIBUTIONS_H_
#define ATTNFLOW_GRAPH_ALTI_CONTRIBUTIONS_H_

#include "attnflow/graph/contribution_layer.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

// c_ij, [query, position]; `layer` with kFirst and the values of all positions.
Tensor<double> alti_contributions(const ContributionLayer& layer);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_GRAPH_ALTI_CONTRIBUTIONS_H_
