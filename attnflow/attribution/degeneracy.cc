#include "attnflow/attribution/degeneracy.h"

namespace attnflow {

DegeneracyCounts count_degenerate(const Attribution& flow, std::size_t layer, std::optional<std::size_t> output) {
  DegeneracyCounts counts;
  counts.layer = flow.layers[layer];
  const std::size_t outputs = flow.values.extent(1);
  for (std::size_t o = output.value_or(0); o < (output ? *output + 1 : outputs); ++o) {
    for (std::size_t j = 0; j < flow.values.extent(2); ++j) {
      if (flow.values(layer, o, j) == 0.0) continue;  // no path
      ++counts.values;
      const std::uint8_t kind = flow.degenerate(layer, o, j);
      if (kind == static_cast<std::uint8_t>(FlowDegeneracy::kFirstLayerColumn)) ++counts.first_layer_column;
      if (kind == static_cast<std::uint8_t>(FlowDegeneracy::kTopRow)) ++counts.top_row;
    }
  }
  return counts;
}

}  // namespace attnflow
