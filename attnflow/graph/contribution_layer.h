// The terms of a layer (graph/layer_terms.h), checked and prepared for the loops over pairs of positions.
//
// Norms that come after the block are folded into their inputs. They are linear given their statistics, so
//
//     N(sum_j F_ij + b) = (1 / sigma_i) sum_j (F_ij - mean) gamma + ...
//
// holds term by term if the rows of every O^h and of x lose their mean and are multiplied by gamma beforehand, at the
// cost of d^2 instead of n^2 d. The factor 1 / sigma_i is common to row i, which is divided by its sum, so it is
// omitted; instead, the norm's result for y_i is multiplied by sigma_i. A scale of the vectors written into a position
// is folded into its attention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnflow/graph/layer_terms.h"

namespace attnflow::internal {

enum class FoldedNorms : std::uint8_t {
  kNone,
  kFirst,  // the one after the block, if any
  kBoth,   // also the one after the feed-forward net, if any, for x and O only
};

struct ContributionLayer {
  std::size_t number = 0;       // 1 for the first
  std::size_t query_begin = 0;  // of the chunk
  std::size_t queries = 0;
  std::size_t positions = 0;  // query_begin + queries: those that have arrived
  std::size_t keys = 0;       // length of an attention row
  std::size_t heads = 0;
  std::size_t key_heads = 0;
  std::size_t width = 0;
  std::size_t hidden = 0;
  std::size_t stride = 0;  // hidden, zero-padded to a multiple of kVectorBlock

  const float* attention = nullptr;    // [head, query, keys]
  const float* values = nullptr;       // [positions - value_begin, key_heads, width]
  std::size_t value_begin = 0;         // the first position in `values`
  const float* residual = nullptr;     // [query, stride], folded
  const float* output = nullptr;       // [query, stride], folded by the first norm
  std::vector<std::size_t> used_keys;  // per query: one more than the last key to which any head attends
  std::vector<float> projection;       // folded, [head, panel, width, kVectorBlock] (graph/contribution_kernels.h)
  std::size_t threads = 1;

  // Arrays that the engine does not provide.
  std::vector<float> own_attention, own_residual, own_output;

  const float* attention_row(std::size_t head, std::size_t query) const {
    return attention + (head * queries + query) * keys;
  }
  const float* value(std::size_t position, std::size_t head) const {
    return values + ((position - value_begin) * key_heads + head * key_heads / heads) * width;
  }
};

// Checks the terms and folds the norms; values are those of the chunk. Messages name `method`. Throws Error(kOther) for
// shapes that do not match and for attention to positions that have not arrived, and Error(kBadFile), naming layer and
// position, for numbers that are not finite and for attention below 0.
ContributionLayer contribution_layer(const LayerTerms& terms, FoldedNorms folded, const std::string& method,
                                     std::size_t threads);

}  // namespace attnflow::internal
