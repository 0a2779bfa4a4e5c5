// GlobEnc: vector lengths after the second residual and norm of an encoder layer (Modarressi et al. 2022).
//
// Problem. In BERT, a second residual connection and a second norm follow the feed-forward net. The first norm's scale
// can be very uneven; the second partly undoes that, so lengths measured before it say little about the layer's output.
//
// Definition (section 3.1, equations 8 to 10; N_Enc in the paper). The feed-forward net is left out, and the vector
// that position j gives to position i continues along the second residual and through the linearized second norm:
//
//     c_ij = | (F'_ij - mean F'_ij) / sigma'_i gamma' |,   F' being F_ij of graph/contribution_mixing.h after the first
//     norm.
//
// sigma'_i belongs to the true input of the second norm, including the feed-forward net. It is common to row i and
// cancels when that is divided by its sum, so it need not be known.
//
// Method. Both norms are folded into O^h and x; the rest is as in graph/norm_contributions.h.
//
// Needs: the inputs of graph/norm_contributions.h, and a layer with both norms after its blocks.
// Time and memory: those of graph/norm_contributions.h.
//
// References:
//   A. Modarressi, M. Fayyaz, Y. Yaghoobzadeh and M. T. Pilehvar, GlobEnc: Quantifying Global Token Attribution by
//     Incorporating the Whole Encoder Layer in Transformers, NAACL 2022: https://aclanthology.org/2022.naacl-main.19
#ifndef ATTNFLOW_GRAPH_GLOBENC_CONTRIBUTIONS_H_
#define ATTNFLOW_GRAPH_GLOBENC_CONTRIBUTIONS_H_

#include <cstddef>

#include "attnflow/graph/norm_contributions.h"

namespace attnflow::internal {

// Throws Error(kUnsupportedModel) unless both norms of the layer come after its blocks.
void check_globenc(const LayerTerms& terms);

// Returns c_ij, [query, position]; `terms` as above, `grams` as in norm_contributions().
Tensor<double> globenc_contributions(const LayerTerms& terms, std::size_t threads, GramBlocks& grams);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_GRAPH_GLOBENC_CONTRIBUTIONS_H_
