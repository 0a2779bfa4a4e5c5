// The question that every analysis asks: how much of some outputs comes from some inputs, by one method?
//
// A Query is resolved: layers and positions exist, and nothing is left to guess. What it is asked of is an
// AttentionSource (attribution/source.h); attribute() (attribution/attribute.h) answers it.
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

// What finished values are divided by (graph/normalize.h).
enum class Normalization : std::uint8_t { kNone, kRow, kReceptiveField };

struct Query {
  Method method = Method::kRollout;  // one that aggregates
  // The requested l, one matrix of values for each. They must be increasing, each once; this is not checked.
  std::vector<std::size_t> layers = {};
  std::size_t start_layer = 0;  // m: raw attention does not look at it
  // Each output is the mean over the rows of its positions: one position, or the subword tokens of a word.
  TokenGroups outputs = {};
  // Each input is the sum over the columns of its positions; flow gives those of one input a common sink. Empty: every
  // position is an input. For flow a partition of the positions that the source gives values of.
  TokenGroups inputs = {};
  bool baseline = false;  // the same values under uniform attention, for Normalization::kReceptiveField
  // How far a flow may be from an end cut and still count as equal to it (FlowOptions::tolerance). If above 1e-6, it is
  // also the allowed width of a flow's enclosure (FlowOptions::max_gap).
  double flow_tolerance = 1e-6;
};

// {0}, {1}, ... {n - 1}: every position by itself.
inline TokenGroups single_tokens(std::size_t n) {
  TokenGroups groups(n);
  for (std::size_t i = 0; i < n; ++i) groups[i] = {i};
  return groups;
}

}  // namespace attnflow
