// The lengths of the vectors that positions write into each other (Kobayashi et al. 2020, 2021; for whole encoder
// layers, Modarressi et al. 2022), without computing them.
//
// Definition. c_ij = |F_ij|, the Euclidean length of F_ij = T_ij + d_ij x_i (graph/contribution_mixing.h). Kobayashi et
// al. define it in 2020 for attention, and in 2021 with the residual and the linearized norm after it.
//
// Method. F_ij is a sum over heads of fixed vectors u_j^h = v_j^h O^h, so its length is a quadratic form in the
// attention weights, whose matrix is the Gram matrix of these vectors and depends only on j:
//
//     |T_ij|^2 = sum_(h, h') a_ij^h a_ij^h' (u_j^h . u_j^h').
//
// So n matrices of H^2 numbers are computed instead of n^2 vectors of d. On the diagonal, the vector itself is
// computed, once per position. Gram matrices and forms are float64: lengths are accurate to float32 precision as long
// as the heads do not cancel each other in nearly all digits.
//
// GlobEnc (Modarressi et al., section 3.1, equations 8 to 10; N_Enc in the paper). In BERT, a second residual
// connection and a second norm follow the feed-forward net, and the second norm partly undoes the first one's uneven
// scale. The net is left out, and F'_ij, which is F_ij after the first norm, continues along the second residual and
// through the linearized second norm:
//
//     c_ij = | (F'_ij - mean F'_ij) / sigma'_i gamma' |.
//
// sigma'_i belongs to the true input of the second norm, including the net. It is common to row i and cancels in the
// division by the row's sum, so it need not be known. Both norms are folded into O^h and x (FoldedNorms::kBoth).
//
// Needs: values, output projection, residual; the norm after the block, if there is one; for GlobEnc, both norms. Time:
// n d^2 for the vectors, n H^2 d / 2 for the matrices, n^2 H^2 / 2 for the forms (half of that in causal models).
// Memory: n H (H + 1) / 2 numbers, and one tile per thread.
//
// References:
//   G. Kobayashi, T. Kuribayashi, S. Yokoi and K. Inui, Attention is Not Only a Weight: Analyzing Transformers with
//     Vector Norms, EMNLP 2020: https://aclanthology.org/2020.emnlp-main.574
//   G. Kobayashi, T. Kuribayashi, S. Yokoi and K. Inui, Incorporating Residual and Normalization Layers into Analysis
//     of Masked Language Models, EMNLP 2021: https://aclanthology.org/2021.emnlp-main.373
//   A. Modarressi, M. Fayyaz, Y. Yaghoobzadeh and M. T. Pilehvar, GlobEnc: Quantifying Global Token Attribution by
//     Incorporating the Whole Encoder Layer in Transformers, NAACL 2022: https://aclanthology.org/2022.naacl-main.19
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/graph/contribution_layer.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

// Gram matrices of the positions of a layer that have arrived: blocks of kFormBlock positions, each [pair of heads,
// position], with those of two different heads doubled (graph/contribution_kernels.h).
using GramBlocks = std::vector<std::vector<double>>;

// Returns c_ij, [query, position]; `layer` has the chunk's values. Adds the chunk's matrices to `grams`.
Tensor<double> norm_contributions(const ContributionLayer& layer, GramBlocks& grams);

}  // namespace attnflow::internal
