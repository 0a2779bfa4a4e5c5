// How the arrays of a compact document are encoded so that they fit into a number of bytes; not part of the library's
// interface.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/report/compact_array.h"
#include "attnflow/report/compact_rows.h"

namespace attnflow::internal {

// An array that may lose digits or small values.
struct CompactSource {
  std::string name;
  RowSource rows;
  // Most of a row's mass is in few values (attention), and not spread over many (rollout).
  bool sparse = false;
  // The model's own attention of all heads: takes what bytes the other arrays leave.
  bool attention = false;
  // Of use only beside exact values (flow_gap): left out where those are not kept.
  bool only_exact = false;
};

struct CompactLimits {
  std::size_t exact_bytes = 0;  // up to here all arrays stay float32
  std::size_t bytes = 0;        // aimed at
  std::size_t max_bytes = 0;    // also when `least_kept` values of every row take more than `bytes`
  std::size_t least_kept = 16;
};

struct CompactEntry {
  std::string name;
  CompactEncoding encoding = CompactEncoding::kFloat32;
  CompactArray array;
};

struct CompactArrays {
  std::vector<CompactEntry> entries;  // in the order of the sources
  std::vector<std::string> left_out;  // names of sources with only_exact
};

// Tries, until the arrays fit into `bytes`: float32 (into `exact_bytes`); attention with logarithmic codes; all arrays
// with them; of attention the largest values of each row; the same of other sparse arrays; the same of all. The share
// of a row's sum from which on a value is kept is one for attention, and one for all other arrays. Arrays of at most 48
// KB stay float32. When nothing fits into `bytes`, as few values as allowed are kept if they fit into `max_bytes`,
// else nothing is returned.
//
// Deterministic. Sizes are estimated from samples of rows; the result is measured. O(values).
std::optional<CompactArrays> fit_arrays(const std::vector<CompactSource>& sources, const CompactLimits& limits);

}  // namespace attnflow::internal
