// How many flows are degenerate (flow/flow.h), layer by layer.
//
// Example:
//
//     GraphSource source(attention_graph(stack), /*causal=*/false);
//     const Query query{.method = Method::kFlow, .layers = {1, 6}, .outputs = single_tokens(6)};
//     const Attribution flow = attribute(source, query);
//     const DegeneracyCounts counts = count_degenerate(flow, 1);  // of layers[1]
//     std::printf("layer %zu: %zu of %zu flows say nothing of the layers between\n", counts.layer, counts.degenerate(),
//                 counts.values);
#pragma once

#include <cstddef>
#include <optional>

#include "attnflow/attribution/attribute.h"

namespace attnflow {

// The flow values of one layer that have a path: how many there are, and how many equal which end cut.
struct DegeneracyCounts {
  std::size_t layer = 0;
  std::size_t values = 0;
  std::size_t first_layer_column = 0;
  std::size_t top_row = 0;

  std::size_t degenerate() const { return first_layer_column + top_row; }
};

// Of every output, or of `output` (its place in the second dimension), at the layer in place `layer`.
DegeneracyCounts count_degenerate(const Attribution& flow, std::size_t layer, std::optional<std::size_t> output = {});

}  // namespace attnflow
