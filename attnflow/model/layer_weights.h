// The weights of one Transformer layer, of an encoder or a decoder, as they are stored.
//
// Pointers are into a Checkpoint and never null where nothing else is said. Shapes are those of PyTorch: a linear map
// from a to b numbers is y = x W^T + bias with W [b, a].
#ifndef ATTNFLOW_MODEL_LAYER_WEIGHTS_H_
#define ATTNFLOW_MODEL_LAYER_WEIGHTS_H_

#include <cstddef>
#include <string_view>

#include "attnflow/model/architecture.h"
#include "attnflow/model/checkpoint.h"

namespace attnflow {

// Rows [begin, begin + out) of a stored map, which may be more than one map side by side; or, where those maps are
// interleaved head by head, out / groups rows from `begin` on in each of so many equal parts of it.
struct LinearWeights {
  const StoredTensor* weight = nullptr;        // [all out, in], or transposed
  const StoredTensor* bias = nullptr;          // [all out], or [out]: of these rows alone; or null: none
  MatrixLayout layout = MatrixLayout::kOutIn;  // kInOut: transposed
  std::size_t begin = 0;
  std::size_t out = 0;
  std::size_t groups = 1;

  // `count` of these rows.
  LinearWeights rows(std::size_t first, std::size_t count) const {
    LinearWeights part = *this;
    part.begin += first;
    part.out = count;
    return part;
  }
  // `count` rows of each of `parts`.
  LinearWeights rows_of_each(std::size_t parts, std::size_t first, std::size_t count) const {
    LinearWeights part = rows(first, parts * count);
    part.groups = parts;
    return part;
  }
};

// Of a table's names for the maps to queries, keys and values: is it one map's, with no place for a letter?
inline bool is_one_map(std::string_view names) { return names.find('{') == std::string_view::npos; }

struct NormWeights {
  const StoredTensor* scale = nullptr;  // [width]; null: there is no such norm
  const StoredTensor* shift = nullptr;  // [width], or null: RMS norm
  bool centres = false;                 // without a shift: a layer norm all the same
};

struct LayerWeights {
  NormWeights attention_norm;  // where norms come before: without a scale none, as also of feed_forward_norm
  LinearWeights query;         // hidden -> heads * head width, heads side by side
  LinearWeights key, value;    // hidden -> key-value heads * head width
  // hidden -> heads * head width, of embeddings of distances; without a weight: `query` and `key`.
  LinearWeights distance_query, distance_key;
  NormWeights query_norm, key_norm;  // of each head, or of all side by side; without a scale: none
  LinearWeights attention_output;    // heads * head width -> hidden
  NormWeights attention_after;       // of what attention adds; without a scale: none
  // Attention to an encoder's output, between the two halves; without a weight: none.
  NormWeights cross_norm;
  LinearWeights cross_query, cross_key, cross_value, cross_output;
  NormWeights feed_forward_norm;
  LinearWeights gate;                                // hidden -> intermediate; without a weight: nothing is gated
  LinearWeights feed_forward_in;                     // hidden -> intermediate
  LinearWeights feed_forward_out;                    // intermediate -> hidden
  NormWeights feed_forward_after;                    // of what the feed-forward net adds; without a scale: none
  const StoredTensor* attention_scale = nullptr;     // [hidden], or null: none
  const StoredTensor* feed_forward_scale = nullptr;  // likewise
  const StoredTensor* patch_distances = nullptr;     // [distances, heads], or null: none
};

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_LAYER_WEIGHTS_H_
