// Answers every analysis's question: how much of each output comes from each input, by raw attention, rollout or flow?
// Outputs and inputs are groups of tokens (all, one, generated ones, words); values may be normalized.
//
// Definition. For an output O, an input I and the method's values V_l between positions (graph/mixing.h,
// rollout/rollout.h, flow/flow.h):
//
//     values[l, O, I] = (1 / |O|) sum over i in O of sum over j in I of V_l[i, j]        raw attention and rollout,
//     values[l, O, I] = (1 / |O|) sum over i in O of flow_l(i -> I)                      flow,
//
// where flow_l(i -> I) is the maximum flow from i into one sink for all of I: arcs shared by its positions count once.
//
// Enclosures. Flow lies in [values, values + gap]; means are rounded outwards. Raw attention and rollout have no gap.
//
// Degeneracy. A flow equal to one of the network's end cuts is degenerate (flow/flow.h). A mean has its first term's
// mark if all its terms are degenerate.
//
// Cost: the source's method (attribution/source.h) plus O(rows columns) for sums. Same bits for any number of threads.
//
// Example:
//
//     GraphSource source(attention_graph(stack), /*causal=*/false);
//     Query query{.method = Method::kRollout, .layers = {6}, .outputs = {{0}}};
//     const Attribution cls = attribute(source, query);  // cls.values(0, 0, j): how much of token 0 comes from token j
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/attribution/query.h"
#include "attnflow/attribution/source.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Arrays are [layer, output, input], in the query's order.
struct Attribution {
  Method method = Method::kRollout;
  std::vector<std::size_t> layers = {};
  Tensor<double> values = {};            // flow: lower end of the enclosure
  Tensor<double> gap = {};               // flow: upper end - lower end; otherwise empty
  Tensor<std::uint8_t> degenerate = {};  // flow: FlowDegeneracy; otherwise empty
  bool out_of_time = false;              // flow: FlowResult::out_of_time
  Tensor<double> baseline = {};          // values under uniform attention, with Query::baseline
};

// Throws Error(kUsage) for a query without layers or outputs, a method that does not aggregate, layers or positions
// that the source does not have, and flow from a source that cannot compute it (a RowsSource without graphs);
// Error(kOther) if flow would not fit into memory, before computing any; Cancelled.
Attribution attribute(AttentionSource& source, const Query& query, const AttributeOptions& options = {});

// Normalizes each layer's values and gaps in place. kReceptiveField needs the baseline. Returns how many positive
// values became 0 because their baseline was too small to divide by (graph/normalize.h).
std::size_t normalize(Attribution& attribution, Normalization normalization);

}  // namespace attnflow
