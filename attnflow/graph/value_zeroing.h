// Value zeroing: how a layer's output changes without a token's value (Mohebbi et al. 2023).
//
// Problem. Everything else here stops at the attention block. What of a contribution survives the norm and the
// feed-forward net of its layer?
//
// Definition (section 3). With y'_i the output of the layer at position i, and y'_i without j the same when the value
// of position j is 0 in all heads, in this layer alone,
//
//     c_ij = 1 - cos(y'_i, y'_i without j).
//
// The residual stream and the attention weights stay, so that nothing but y_i - T_ij has to be computed anew, for the
// rest of the layer to make y'_i without j of it. 1 - cos(a, b) is computed as |a / |a| - b / |b||^2 / 2, in float64:
// small changes keep their digits.
//
// Needs: values, output projection, output, and the rest of the layer as a function.
// Time: n times the rest of the layer (half of that in causal models), by far the most of all methods. Memory: as many
// rows as a tile has pairs.
//
// References:
//   H. Mohebbi, W. Zuidema, G. Chrupala and A. Alishahi, Quantifying Context Mixing in Transformers, EACL 2023:
//     https://aclanthology.org/2023.eacl-main.245
#ifndef ATTNFLOW_GRAPH_VALUE_ZEROING_H_
#define ATTNFLOW_GRAPH_VALUE_ZEROING_H_

#include "attnflow/graph/contribution_layer.h"
#include "attnflow/graph/layer_terms.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

// Throws Error(kUnsupportedModel) when the engine cannot compute the rest of the layer apart.
void check_value_zeroing(const LayerTerms& terms);

// c_ij, [query, position]; `layer` with kNone and the values of all positions, `terms` those it was made of.
Tensor<double> value_zeroing(const LayerTerms& terms, const ContributionLayer& layer);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_GRAPH_VALUE_ZEROING_H_
