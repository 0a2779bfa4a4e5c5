// The stored weights of one Transformer layer, in an encoder or a decoder.
//
// Pointers point into a Checkpoint and are never null unless stated otherwise. Shapes are those of PyTorch: a linear
// map from a to b numbers is y = x W^T + bias with W [b, a].
#ifndef ATTNFLOW_MODEL_LAYER_WEIGHTS_H_
#define ATTNFLOW_MODEL_LAYER_WEIGHTS_H_

#include <cstddef>
#include <string_view>

#include "attnflow/model/architecture.h"
#include "attnflow/model/checkpoint.h"

namespace attnflow {

// Rows [begin, begin + out) of a stored map, which may combine several maps side by side; or, if those maps are
// interleaved head by head, out / groups rows from `begin` on in each of `groups` equal parts of it.
struct LinearWeights {
  const StoredTensor* weight = nullptr;        // [all out, in], or transposed
  const StoredTensor* bias = nullptr;          // [all out], or [out] for these rows only; or null: none
  MatrixLayout layout = MatrixLayout::kOutIn;  // kInOut: transposed
  std::size_t begin = 0;
  std::size_t out = 0;
  std::size_t groups = 1;

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

// Whether a table's name for the query, key and value maps is that of one combined map, without a placeholder.
inline bool is_one_map(std::string_view names) { return names.find('{') == std::string_view::npos; }

struct NormWeights {
  const StoredTensor* scale = nullptr;  // [width]; null: there is no such norm
  const StoredTensor* shift = nullptr;  // [width], or null: RMS norm
  bool centres = false;                 // a layer norm that subtracts the mean even without a shift
};

struct LayerWeights {
  NormWeights attention_norm;  // if norms precede their blocks; without a scale: none, as also for feed_forward_norm
  LinearWeights query;         // hidden -> heads * head width, heads side by side
  LinearWeights key, value;    // hidden -> key-value heads * head width
  // hidden -> heads * head width, applied to distance embeddings; without a weight: `query` and `key`.
  LinearWeights distance_query, distance_key;
  NormWeights query_norm, key_norm;  // for each head, or for all heads concatenated; without a scale: none
  LinearWeights attention_output;    // heads * head width -> hidden
  NormWeights attention_after;       // applied to the attention output; without a scale: none
  // Attention to an encoder's output, between the two halves; without a weight: none.
  NormWeights cross_norm;
  LinearWeights cross_query, cross_key, cross_value, cross_output;
  NormWeights feed_forward_norm;
  LinearWeights gate;                                // hidden -> intermediate; without a weight: no gate
  LinearWeights feed_forward_in;                     // hidden -> intermediate
  LinearWeights feed_forward_out;                    // intermediate -> hidden
  NormWeights feed_forward_after;                    // applied to the feed-forward output; without a scale: none
  const StoredTensor* attention_scale = nullptr;     // [hidden], or null: none
  const StoredTensor* feed_forward_scale = nullptr;  // likewise
  const StoredTensor* patch_distances = nullptr;     // [distances, heads], or null: none
};

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_LAYER_WEIGHTS_H_
