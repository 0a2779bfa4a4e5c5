// Answers a RowQuestion row by row; not part of the library's interface.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "attnflow/attribution/source.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

inline bool is_every(const std::vector<std::size_t>& positions, std::size_t n) {
  if (positions.size() != n) return false;
  for (std::size_t i = 0; i < n; ++i) {
    if (positions[i] != i) return false;
  }
  return true;
}

// The number of input positions up to the last that any row sees.
inline std::size_t columns_of(const RowQuestion& question) {
  return *std::max_element(question.positions.begin(), question.positions.end()) + 1;
}

// Returns [layer, position, column]. `row_of(layer, position)` gives one row, which may be shorter than `columns` or is
// cut to them. It is called for all layers of a position before the next position.
template <typename RowOf>
Tensor<double> rows_of(const RowQuestion& question, std::size_t columns, const RowOf& row_of) {
  Tensor<double> rows({question.layers.size(), question.positions.size(), columns});
  for (std::size_t p = 0; p < question.positions.size(); ++p) {
    for (std::size_t l = 0; l < question.layers.size(); ++l) {
      const auto& row = row_of(question.layers[l], question.positions[p]);
      std::copy_n(row.data(), std::min(row.size(), columns), rows[l][p].data());
    }
  }
  return rows;
}

}  // namespace attnflow::internal
