// GlobEnc: lengths through the second residual and norm of an encoder layer (Modarressi et al. 2022).
//
// Problem. In BERT, a second residual connection and a second norm follow the feed-forward net. The first norm's scale
// can be very uneven; the second undoes part of that, and lengths before it say little of what leaves the layer.
//
// Definition (section 3.1, equations 8 to 10; what they call N_Enc). The feed-forward net is left out, and what
// position j gives position i goes on along the second residual and through the second norm made linear:
//
//     c_ij = | (F'_ij - mean F'_ij) / sigma'_i gamma' |,   F' the F_ij of graph/contribution_mixing.h behind the first
//     norm.
//
// sigma'_i, of the true input of the second norm with the feed-forward net in it, is the same for all of row i and
// falls out when that is divided by its sum, so that it need not be known.
//
// Method. Both norms are folded into O^h and x, with the rest as in graph/norm_contributions.h.
//
// Needs: what the lengths need, and a layer with both norms behind its blocks.
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

// c_ij, [query, position]; `terms` as above, `grams` as in norm_contributions().
Tensor<double> globenc_contributions(const LayerTerms& terms, std::size_t threads, GramBlocks& grams);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_GRAPH_GLOBENC_CONTRIBUTIONS_H_
