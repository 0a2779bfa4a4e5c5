// Steps 2 and 3 of mixing (graph/mixing.h): masking columns, and discarding the smallest weights.
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/graph/mixing.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

// Throws Error(kUsage) unless the positions are below `keys` and 0 <= discard < 1.
void check_removal(const WeightRemoval& removal, std::size_t keys);

// Whether the diagonal is removed like other weights, or kept because it holds more than what attention brings. A kept
// diagonal still counts in discard's share, as n weights of 0.
enum class Diagonal { kGoes, kStays };

// Checks and performs the removal for rows from `query_begin` on, with keys up to the last. Returns which rows changed.
std::vector<bool> remove_weights(Tensor<double>& matrix, const WeightRemoval& removal, Diagonal diagonal,
                                 std::size_t query_begin = 0);
// Likewise, and applies renormalize_row() to the rows that it changed.
void remove_and_renormalize(Tensor<double>& matrix, const WeightRemoval& removal, Diagonal diagonal,
                            std::size_t query_begin);

}  // namespace attnflow::internal
