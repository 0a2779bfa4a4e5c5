// Counts degenerate flows (flow/flow.h), layer by layer.
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

// One layer's flow values that have a path: their number, and how many equal each end cut.
struct DegeneracyCounts {
  std::size_t layer = 0;
  std::size_t values = 0;
  std::size_t first_layer_column = 0;
  std::size_t top_row = 0;

  std::size_t degenerate() const { return first_layer_column + top_row; }
};

// Counts every output, or `output` (an index into the second dimension), for the layer at index `layer`.
DegeneracyCounts count_degenerate(const Attribution& flow, std::size_t layer, std::optional<std::size_t> output = {});

}  // namespace attnflow
