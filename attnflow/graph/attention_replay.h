// Recomputes the attention of a finished sequence on demand instead of storing it.
//
// Example:
//
//     StackSink sink(replay.layers(), replay.tokens());  // graph/attention_stack.h
//     for (std::size_t l = 1; l <= replay.layers(); ++l) {
//       for (std::size_t q = 0; q < replay.tokens(); ++q) replay.rows(l, q, q + 1, sink);  // one row, all heads
//     }
//     const AttentionStack stored = sink.take();
//     assert(is_causal(stored.weights().view()));  // a decoder's
#pragma once

#include <cstddef>

#include "attnflow/graph/attention_sink.h"

namespace attnflow {

// The weights of a layer follow from its queries and keys, which take O(n d) memory instead of O(H n^2). A model that
// keeps them provides any rows of any layer, in any order, as for the rollout of one output token over a long prompt.
class AttentionReplay {
 public:
  virtual ~AttentionReplay() = default;
  virtual std::size_t layers() const = 0;
  virtual std::size_t heads() const = 0;
  virtual std::size_t tokens() const = 0;  // n
  // Passes rows [query_begin, query_end) of layer `layer` (from 1) to `sink` in one call, as [head, query_end -
  // query_begin, key], perhaps without keys after the last one that these rows attend to. The weights are those that
  // the model used, up to float32 rounding. Throws Error(kUsage) for a layer or row that does not exist.
  virtual void rows(std::size_t layer, std::size_t query_begin, std::size_t query_end, AttentionSink& sink) = 0;
};

}  // namespace attnflow
