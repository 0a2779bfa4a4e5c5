// The weights of one Transformer layer, of an encoder or a decoder, as they are stored.
//
// Pointers are into a Checkpoint and never null where nothing else is said. Shapes are those of PyTorch: a linear map
// from a to b numbers is y = x W^T + bias with W [b, a].
#ifndef ATTNFLOW_MODEL_LAYER_WEIGHTS_H_
#define ATTNFLOW_MODEL_LAYER_WEIGHTS_H_

#include <cstddef>

#include "attnflow/model/architecture.h"
#include "attnflow/model/checkpoint.h"

namespace attnflow {

// Rows [begin, begin + out) of a stored map, which may be more than one map side by side.
struct LinearWeights {
  const StoredTensor* weight = nullptr;        // [all out, in], or transposed
  const StoredTensor* bias = nullptr;          // [all out], or null: none
  MatrixLayout layout = MatrixLayout::kOutIn;  // kInOut: transposed
  std::size_t begin = 0;
  std::size_t out = 0;

  // `count` of these rows.
  LinearWeights rows(std::size_t first, std::size_t count) const {
    LinearWeights part = *this;
    part.begin += first;
    part.out = count;
    return part;
  }
};

struct NormWeights {
  const StoredTensor* scale = nullptr;  // [width]; null: there is no such norm
  const StoredTensor* shift = nullptr;  // [width], or null: RMS norm
};

struct LayerWeights {
  NormWeights attention_norm;
  LinearWeights query;               // hidden -> heads * head width, heads side by side
  LinearWeights key, value;          // hidden -> key-value heads * head width
  NormWeights query_norm, key_norm;  // of each head; without a scale: none
  LinearWeights attention_output;    // heads * head width -> hidden
  NormWeights feed_forward_norm;
  LinearWeights gate;                                // hidden -> intermediate; without a weight: nothing is gated
  LinearWeights feed_forward_in;                     // hidden -> intermediate
  LinearWeights feed_forward_out;                    // intermediate -> hidden
  const StoredTensor* attention_scale = nullptr;     // [hidden], or null: none
  const StoredTensor* feed_forward_scale = nullptr;  // likewise
};

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_LAYER_WEIGHTS_H_
