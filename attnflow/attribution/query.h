// The question of every analysis: how much of some outputs comes from some inputs, by one method?
//
// A Query is resolved: its layers and positions exist, and nothing is left to guess. attribute()
// (attribution/attribute.h) answers it from an AttentionSource (attribution/source.h).
//
// Example:
//
//     GraphSource source(attention_graph(stack), /*causal=*/false);
//     const Query query{.method = Method::kFlow,
//                       .layers = {6},
//                       .outputs = {{0}},                         // [CLS]
//                       .inputs = {{0}, {1}, {2, 3}, {4}, {5}}};  // words: "key" and "##s" are one input
//     const Attribution answer = attribute(source, query);        // attribution/attribute.h
//     assert(answer.values.extent(2) == 5);
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/attribution/methods.h"
#include "attnflow/graph/normalize.h"

namespace attnflow {

// The divisor of final values (graph/normalize.h).
enum class Normalization : std::uint8_t { kNone, kRow, kReceptiveField };

struct Query {
  Method method = Method::kRollout;  // must aggregate
  // The requested l, one matrix of values each. They must be strictly increasing; this is not checked.
  std::vector<std::size_t> layers = {};
  std::size_t start_layer = 0;  // m; unused by raw attention
  // Each output is the mean over its positions' rows: one position, or a word's subword tokens.
  TokenGroups outputs = {};
  // Each input is the sum over its positions' columns; for flow, they share a sink. Empty: every position is an input.
  // For flow, inputs must partition the positions for which the source gives values.
  TokenGroups inputs = {};
  bool baseline = false;  // also compute values under uniform attention, for Normalization::kReceptiveField
  // The largest distance from an end cut at which a flow counts as equal to it (FlowOptions::tolerance). Above 1e-6,
  // also the allowed width of a flow's enclosure (FlowOptions::max_gap).
  double flow_tolerance = 1e-6;
};

inline TokenGroups single_tokens(std::size_t n) {
  TokenGroups groups(n);
  for (std::size_t i = 0; i < n; ++i) groups[i] = {i};
  return groups;
}

}  // namespace attnflow
