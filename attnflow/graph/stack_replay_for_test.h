// A stored stack that provides rows on request, like a decoder that has kept its queries and keys.
#pragma once

#include <algorithm>
#include <cstddef>

#include "attnflow/graph/attention_replay.h"
#include "attnflow/graph/attention_stack.h"

namespace attnflow {

class StackReplay : public AttentionReplay {
 public:
  explicit StackReplay(const AttentionStack& stack) : stack_(stack) {}
  std::size_t layers() const override { return stack_.layers(); }
  std::size_t heads() const override { return stack_.heads(); }
  std::size_t tokens() const override { return stack_.tokens(); }
  void rows(std::size_t layer, std::size_t begin, std::size_t end, AttentionSink& sink) override {
    rows_asked += end - begin;
    Tensor<float> chunk({heads(), end - begin, end});
    for (std::size_t h = 0; h < heads(); ++h) {
      for (std::size_t q = begin; q < end; ++q) {
        for (std::size_t k = 0; k < end; ++k) chunk(h, q - begin, k) = stack_.weights()(layer - 1, h, q, k);
      }
    }
    sink.layer(layer, begin, chunk.view());
  }
  std::size_t rows_asked = 0;

 private:
  const AttentionStack& stack_;
};

}  // namespace attnflow
