// Chooses encodings that fit the arrays of a compact document into a number of bytes; internal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/report/compact_array.h"
#include "attnflow/report/compact_rows.h"

namespace attnflow::internal {

struct CompactSource {
  std::string name;
  RowSource rows;
  // Most of a row's mass is in few values (attention, unlike rollout).
  bool sparse = false;
  // The model's own attention of all heads: takes the bytes that other arrays leave.
  bool attention = false;
  // Meaningful only with exact values (flow_gap): left out where those are not kept.
  bool only_exact = false;
};

struct CompactLimits {
  std::size_t exact_bytes = 0;  // up to here all arrays stay float32
  std::size_t bytes = 0;        // aimed at
  std::size_t max_bytes = 0;    // also when `least_kept` values of every row take more than `bytes`
  std::size_t least_kept = 16;
  std::size_t small_bytes = 48 * 1024;  // arrays up to here stay float32
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

// Tries, until the arrays fit into `bytes`: float32 (into `exact_bytes`); logarithmic codes for attention, then for all
// arrays; the largest values per row of attention, then of other sparse arrays, then of all. Attention has one
// threshold, as a share of a row's sum, and all other arrays another. Arrays of at most `small_bytes` stay float32. If
// nothing fits into `bytes`, the fewest values allowed are kept if they fit into `max_bytes`; otherwise nothing is
// returned.
//
// Deterministic. Sizes are estimated from samples of rows; the result is measured. O(values).
std::optional<CompactArrays> fit_arrays(const std::vector<CompactSource>& sources, const CompactLimits& limits);

}  // namespace attnflow::internal
