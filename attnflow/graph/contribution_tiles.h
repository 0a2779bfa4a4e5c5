// The loop over pairs of positions used by ALTI, IFR and value zeroing: tiles of keys, slices of vectors, groups of
// queries.
//
// The vector that key j gives to a head, u_j^h = v_j^h O^h, is computed for kTileKeys keys at a time, in slices of the
// hidden size as wide as a cache allows for all heads together. The kGroup queries of a group share a key's loaded
// data. Pairs without attention in any head have no T_ij and are skipped: nothing above a causal model's diagonal is
// computed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "attnflow/graph/contribution_kernels.h"
#include "attnflow/graph/contribution_layer.h"

namespace attnflow::internal {

inline constexpr std::size_t kTileKeys = 8;
inline constexpr std::size_t kTileQueries = 64;
inline constexpr std::size_t kTileFloats = std::size_t{1} << 16;  // 256 KiB: half of a small second-level cache

// Queries that draw on one key. Weights are [heads], or [heads + 1] for a pair of a position with itself, where a 1 for
// x_i follows the weights of the heads.
struct QueryGroup {
  std::size_t key = 0;  // position
  std::size_t tile_key = 0;
  std::size_t count = 0;
  bool is_diagonal = false;  // then a single query, at the key's position
  std::array<std::size_t, kGroup> queries = {};
  std::array<const float*, kGroup> weights = {};
  const float* vectors = nullptr;  // [heads + 1, length]: u_j^h, then x_j if the key is a query of the chunk
};

struct Slice {
  std::size_t begin = 0;
  std::size_t length = 0;
};

// Computes u_j^h of `count` keys, followed by x_j for queries of the chunk: vectors [key, heads + 1, slice].
void project_keys(const ContributionLayer& layer, std::size_t first, std::size_t count, const Slice& slice,
                  float* vectors);

class PairTiles {
 public:
  explicit PairTiles(const ContributionLayer& layer)
      : layer_(layer),
        vectors_(kTileKeys * (layer.heads + 1) * slice_length(layer)),
        weights_(kTileKeys * kTileQueries * (layer.heads + 1)) {}

  static std::size_t tiles(const ContributionLayer& layer) { return (layer.positions + kTileKeys - 1) / kTileKeys; }

  static std::size_t slice_length(const ContributionLayer& layer) {
    const std::size_t fits = kTileFloats / (kTileKeys * (layer.heads + 1)) / kVectorBlock * kVectorBlock;
    return std::min(layer.stride, std::max(fits, kVectorBlock));
  }

  // Calls visit(group, slice) for all pairs of the tile's keys, slice by slice.
  template <typename Visit>
  void for_each_group(std::size_t tile, const Visit& visit) {
    const std::size_t first = tile * kTileKeys;
    const std::size_t count = std::min(kTileKeys, layer_.positions - first);
    const std::size_t longest = slice_length(layer_);
    for (std::size_t begin = 0; begin < layer_.stride; begin += longest) {
      const Slice slice = {begin, std::min(longest, layer_.stride - begin)};
      project_keys(layer_, first, count, slice, vectors_.data());
      for (std::size_t q = 0; q < layer_.queries; q += kTileQueries) {
        const std::size_t end = std::min(layer_.queries, q + kTileQueries);
        const auto used = std::max_element(layer_.used_keys.begin() + static_cast<std::ptrdiff_t>(q),
                                           layer_.used_keys.begin() + static_cast<std::ptrdiff_t>(end));
        // The residual stream of a position counts even if nothing attends to it.
        const bool has_diagonal = layer_.query_begin + q < first + count && first < layer_.query_begin + end;
        if (*used <= first && !has_diagonal) continue;
        gather(first, count, q, end);
        for (std::size_t k = 0; k < count; ++k) visit_key(first + k, k, q, end, slice, visit);
      }
    }
  }

 private:
  // Fills weights_ [key, query, heads + 1] for queries [begin, end).
  void gather(std::size_t first, std::size_t count, std::size_t begin, std::size_t end) {
    const std::size_t row = layer_.heads + 1;
    const std::size_t there = std::min(count, layer_.keys > first ? layer_.keys - first : 0);
    for (std::size_t h = 0; h < layer_.heads; ++h) {
      for (std::size_t q = begin; q < end; ++q) {
        const float* from = layer_.attention_row(h, q) + first;
        float* to = weights_.data() + (q - begin) * row + h;
        for (std::size_t k = 0; k < there; ++k) to[k * kTileQueries * row] = from[k];
        for (std::size_t k = there; k < count; ++k) to[k * kTileQueries * row] = 0.0F;
      }
    }
    for (std::size_t e = 0; e < kTileKeys * kTileQueries; ++e) weights_[e * row + layer_.heads] = 1.0F;
  }

  template <typename Visit>
  void visit_key(std::size_t key, std::size_t tile_key, std::size_t begin, std::size_t end, const Slice& slice,
                 const Visit& visit) {
    const std::size_t row = layer_.heads + 1;
    QueryGroup group;
    group.key = key;
    group.tile_key = tile_key;
    group.vectors = vectors_.data() + tile_key * row * slice.length;
    for (std::size_t q = begin; q < end; ++q) {
      const float* weights = weights_.data() + (tile_key * kTileQueries + q - begin) * row;
      if (layer_.query_begin + q == key) {
        QueryGroup own = group;
        own.count = 1;
        own.is_diagonal = true;
        own.queries[0] = q;
        own.weights[0] = weights;
        visit(own, slice);
        continue;
      }
      if (std::all_of(weights, weights + layer_.heads, [](float w) { return w == 0.0F; })) continue;
      group.queries[group.count] = q;
      group.weights[group.count] = weights;
      if (++group.count == kGroup) {
        visit(group, slice);
        group.count = 0;
      }
    }
    if (group.count > 0) visit(group, slice);
  }

  const ContributionLayer& layer_;
  std::vector<float> vectors_;
  std::vector<float> weights_;
};

// y in the form needed for sums of gains (graph/contribution_kernels.h): 2 |y| and the signs.
class OutputSigns {
 public:
  explicit OutputSigns(const ContributionLayer& layer);
  GroupOutputs of(const QueryGroup& group, const Slice& slice) const;

 private:
  std::size_t stride_;
  std::vector<float> twice_;
  std::vector<float> signs_;
};

}  // namespace attnflow::internal
