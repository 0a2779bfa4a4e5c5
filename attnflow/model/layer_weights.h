// The stored weights of one Transformer layer, in an encoder or a decoder.
//
// Pointers point into a Checkpoint and are never null unless stated otherwise. Shapes are those of PyTorch: a linear
// map from a to b numbers is y = x W^T + bias with W [b, a].
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "attnflow/model/architecture.h"
#include "attnflow/model/checkpoint.h"

namespace attnflow {

// Rows [begin, begin + out) of a stored map, which may combine several maps side by side; or, if it interleaves them
// head by head, out / groups rows from `begin` on in each of `groups` equal parts of it.
struct LinearWeights {
  const StoredTensor* weight = nullptr;        // [all out, in], or transposed
  const StoredTensor* bias = nullptr;          // [all out], or [out] for these rows only; or null: none
  MatrixLayout layout = MatrixLayout::kOutIn;  // kInOut: transposed
  std::size_t begin = 0;
  std::size_t out = 0;
  std::size_t groups = 1;
  std::optional<std::size_t> expert = {};  // of a stack of maps, [experts, ..]; absent: the tensor is one map

  // How many numbers it maps.
  std::size_t in() const {
    const std::size_t out_first = layout == MatrixLayout::kOutIn ? 1 : 0;
    return weight->shape[(expert ? 1 : 0) + out_first];
  }
  // Returns `count` of these rows.
  LinearWeights rows(std::size_t first, std::size_t count) const {
    LinearWeights part = *this;
    part.begin += first;
    part.out = count;
    return part;
  }
  // Returns `count` rows from each of `parts` parts.
  LinearWeights rows_of_each(std::size_t parts, std::size_t first, std::size_t count) const {
    LinearWeights part = rows(first, parts * count);
    part.groups = parts;
    return part;
  }
};

// Whether a table's name for the query, key and value maps is that of one combined map.
inline bool is_one_map(std::string_view names) { return names.find('{') == std::string_view::npos; }

struct NormWeights {
  const StoredTensor* scale = nullptr;  // [width]; null: there is no such norm
  const StoredTensor* shift = nullptr;  // [width], of NormKind::kLayer; else null
  NormKind kind = NormKind::kLayer;
};

// One of a layer's feed-forward networks, all of which have gates.
template <typename Map>
struct ExpertParts {
  Map gate, in, out;
};

// The parts of a layer, whose maps, norms and tables are stored weights or made from them.
template <typename Map, typename Norm, typename Table>
struct LayerParts {
  Norm attention_norm;  // if norms precede their blocks; without a scale: none, as also for feed_forward_norm
  Map query;            // hidden -> heads * head width, heads side by side
  Map key, value;       // hidden -> key-value heads * head width
  // hidden -> heads * head width, applied to distance embeddings; without a weight: `query` and `key`.
  Map distance_query, distance_key;
  Norm query_norm, key_norm;  // for each head, or for all heads concatenated; without a scale: none
  Map attention_output;       // heads * head width -> hidden
  Norm attention_after;       // applied to the attention output; without a scale: none
  // Attention to an encoder's output, between the two halves; without a weight: none.
  Norm cross_norm;
  Map cross_query, cross_key, cross_value, cross_output;
  Norm feed_forward_norm;
  Map gate;              // hidden -> intermediate; without a weight: no gate
  Map feed_forward_in;   // hidden -> intermediate
  Map feed_forward_out;  // intermediate -> hidden
  // In place of these three: a score for each expert, hidden -> experts, and the experts. Without a weight: none.
  Map router;
  std::vector<ExpertParts<Map>> experts;
  Norm feed_forward_after;     // applied to the feed-forward output; without a scale: none
  Table attention_scale{};     // [hidden], or null: none
  Table feed_forward_scale{};  // likewise
  Table patch_distances{};     // [distances, heads], or null: none
  Table sinks{};               // [heads]: scores that belong to no token, or null: none

  // All but the experts.
  template <typename Parts>
  static auto all(Parts& parts) {
    return std::tie(parts.attention_norm, parts.query, parts.key, parts.value, parts.distance_query, parts.distance_key,
                    parts.query_norm, parts.key_norm, parts.attention_output, parts.attention_after, parts.cross_norm,
                    parts.cross_query, parts.cross_key, parts.cross_value, parts.cross_output, parts.feed_forward_norm,
                    parts.gate, parts.feed_forward_in, parts.feed_forward_out, parts.router, parts.feed_forward_after,
                    parts.attention_scale, parts.feed_forward_scale, parts.patch_distances, parts.sinks);
  }
};

using LayerWeights = LayerParts<LinearWeights, NormWeights, const StoredTensor*>;

}  // namespace attnflow
