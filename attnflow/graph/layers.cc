#include "attnflow/graph/layers.h"

#include <algorithm>

#include "attnflow/base/fail.h"

namespace attnflow {

std::vector<std::size_t> resolve_layers(const std::vector<std::size_t>& layers, std::size_t start_layer,
                                        std::size_t layer_count) {
  if (start_layer >= layer_count) {
    fail_with(ErrorKind::kUsage,
              "--start-layer: expected a layer from 0 to {} (below the last of {} layers), "
              "found {}",
              layer_count - 1, layer_count, start_layer);
  }
  std::vector<std::size_t> resolved = layers;
  if (resolved.empty()) {
    for (std::size_t l = start_layer + 1; l <= layer_count; ++l) resolved.push_back(l);
  }
  std::sort(resolved.begin(), resolved.end());
  resolved.erase(std::unique(resolved.begin(), resolved.end()), resolved.end());
  for (const std::size_t l : resolved) {
    if (l <= start_layer || l > layer_count) {
      fail_with(ErrorKind::kUsage, "--layers: expected layers from {} to {} (above --start-layer {}), found {}",
                start_layer + 1, layer_count, start_layer, l);
    }
  }
  return resolved;
}

void check_output_token(std::size_t position, std::size_t tokens) {
  if (position < tokens) return;
  fail_with(ErrorKind::kUsage, "output token: expected a position from 0 to {}, found {}", tokens - 1, position);
}

}  // namespace attnflow
