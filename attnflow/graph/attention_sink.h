// Receives attention while a model runs.
//
// Example:
//
//     struct LargestWeight : AttentionSink {
//       float largest = 0.0F;
//       void layer(std::size_t, std::size_t, TensorView<const float> attention) override {
//         for (const float weight : attention.span()) largest = std::max(largest, weight);
//       }
//     };
//     LargestWeight sink;
//     stack.send_to(sink);  // layer by layer, as a model would (graph/attention_stack.h)
#pragma once

#include <cstddef>

#include "attnflow/graph/layer_terms.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// A model passes its weights to a sink as it computes them, so that the sink decides what to store: the full stack, the
// fused matrices, or only a running product.
class AttentionSink {
 public:
  virtual ~AttentionSink() = default;

  // Receives the attention of one layer for the query positions [query_begin, query_begin + attention.extent(1)).
  //   layer      1 for the first layer; layers of one chunk of queries come in increasing order
  //   attention  [head, query, key], after softmax; key positions count from the beginning of the whole sequence.
  //              Valid only during the call.
  // Engines that process a prompt in chunks call this for all layers of a chunk before the next chunk.
  virtual void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) = 0;

  // If true, terms() is called instead of layer(), in the same order. An engine that cannot provide terms throws
  // Error(kUnsupportedModel) before it computes anything.
  virtual bool wants_terms() const { return false; }
  virtual void terms(const LayerTerms& terms) { layer(terms.layer, terms.query_begin, terms.attention); }
};

}  // namespace attnflow
