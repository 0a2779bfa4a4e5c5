// Value zeroing: how a layer's output changes without a token's value (Mohebbi et al. 2023).
//
// Problem. All other methods here stop at the attention block. How much of a contribution survives the norm and the
// feed-forward net of its layer?
//
// Definition (section 3). With y'_i the output of the layer at position i, and y'_i without j the same if the value of
// position j is set to 0 in all heads, in this layer alone,
//
//     c_ij = 1 - cos(y'_i, y'_i without j).
//
// The residual stream and the attention weights are unchanged, so only y_i - T_ij is computed, and the rest of the
// layer turns it into y'_i without j. 1 - cos(a, b) is computed as |a / |a| - b / |b||^2 / 2, in float64, so that small
// changes keep their digits.
//
// Needs: values, output projection, output, and the rest of the layer as a function. Time: n times the rest of the
// layer (half of that in causal models), by far the most of all methods. Memory: as many rows as there are pairs in a
// tile.
//
// References:
//   H. Mohebbi, W. Zuidema, G. Chrupala and A. Alishahi, Quantifying Context Mixing in Transformers, EACL 2023:
//     https://aclanthology.org/2023.eacl-main.245
#pragma once

#include "attnflow/graph/contribution_layer.h"
#include "attnflow/graph/layer_terms.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

// Returns c_ij, [query, position]; `layer`, made from `terms` with `rest`, must have kNone and all positions' values.
Tensor<double> value_zeroing(const LayerTerms& terms, const ContributionLayer& layer);

}  // namespace attnflow::internal
