// The requested layers, checked: shared by everything that aggregates over layers.
//
// Example:
//
//     using Layers = std::vector<std::size_t>;
//     assert((resolve_layers({}, 0, 3) == Layers{1, 2, 3}));  // all of a model of 3 layers
//     assert((resolve_layers({}, 4, 6) == Layers{5, 6}));     // those above layer 4
//     assert((resolve_layers({6, 2}, 0, 6) == Layers{2, 6}));
#pragma once

#include <cstddef>
#include <vector>

namespace attnflow {

// Returns `layers`, increasing and unique, or all of start_layer + 1 ... layer_count if it is empty. Throws
// Error(kUsage) for a layer outside (start_layer, layer_count], or start_layer >= layer_count.
std::vector<std::size_t> resolve_layers(const std::vector<std::size_t>& layers, std::size_t start_layer,
                                        std::size_t layer_count);

void check_output_token(std::size_t position, std::size_t tokens);

}  // namespace attnflow
