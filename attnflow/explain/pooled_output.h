// The output that is the mean of all tokens' states, as that of a text's embedding (analysis/tasks/embedding_task.cc).
//
// Definition. With V_l[i, j] a method's values for n tokens, the mean of the states after layer l has, as one more
// output,
//
//     V_l[n, j] = sum_i w_i V_l[i, j]        j < n,
//
// where w_i is
//
//     1 / n                     for attention and contributions, whose rows are proportions;
//     1                         for amounts of relevance (raw matrices and flow): those of all tokens together;
//     S_l[i] / sum_k S_l[k]     for rollout over relevance, which makes shares of each token's amount S_l[i], however
//                               small (rollout/capacity_rollout.h).
//
// A merged word stands for all its tokens. As an input, the mean has no weight: column n is 0.
//
// Flow. From the maximum flows of single tokens, as for words (attribution/attribute.h), with an enclosure as wide as
// theirs; degenerate where all of them are, by the first one's mark.
//
// O(L n^2), float64, same bits for any number of threads.
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/attribution/attribute.h"
#include "attnflow/graph/mixing.h"

namespace attnflow {

// w, of each of the outputs, whose rows are means over their tokens.
std::vector<double> pooled_weights(const AttentionGraph& graph, Method method, std::size_t layer,
                                   const TokenGroups& outputs);

// Adds the output and its column to values of all outputs of `graph`; with `alone`, keeps no other output.
void add_pooled_output(Attribution& found, const AttentionGraph& graph, const TokenGroups& outputs, bool alone);

}  // namespace attnflow
