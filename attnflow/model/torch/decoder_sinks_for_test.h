// Collects the attention of decoders, which arrives in chunks of queries.
#ifndef ATTNFLOW_MODEL_TORCH_DECODER_SINKS_FOR_TEST_H_
#define ATTNFLOW_MODEL_TORCH_DECODER_SINKS_FOR_TEST_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "attnflow/graph/attention_sink.h"

namespace attnflow::test {

// Keeps every chunk, and checks that chunks arrive as the interface promises: all layers of one before the next, keys
// up to the last query.
class StackedRows : public AttentionSink {
 public:
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override {
    EXPECT_EQ(attention.rank(), 3U);
    const std::size_t queries = attention.extent(1);
    EXPECT_EQ(attention.extent(2), query_begin + queries);
    if (layer == 1) {
      if (!chunks.empty()) {
        EXPECT_EQ(query_begin, chunks.back().begin + chunks.back().queries);
      }
      chunks.push_back({query_begin, queries, {}});
    }
    ASSERT_FALSE(chunks.empty());
    Chunk& chunk = chunks.back();
    EXPECT_EQ(query_begin, chunk.begin);
    EXPECT_EQ(queries, chunk.queries);
    EXPECT_EQ(layer, chunk.layers.size() + 1);
    chunk.layers.emplace_back(attention.shape(), std::vector<float>(attention.span().begin(), attention.span().end()));
  }

  // Number of layers in the first chunk, which must be the same in all.
  std::size_t layers() const {
    for (const Chunk& chunk : chunks) EXPECT_EQ(chunk.layers.size(), chunks.front().layers.size());
    return chunks.empty() ? 0 : chunks.front().layers.size();
  }

  // Returns one row of `keys` weights: 0 after the keys that it arrived with. Empty for a query that did not arrive.
  std::vector<float> row(std::size_t layer, std::size_t head, std::size_t query, std::size_t keys) const {
    for (const Chunk& chunk : chunks) {
      if (query < chunk.begin || query >= chunk.begin + chunk.queries) continue;
      const auto found = chunk.layers.at(layer - 1)[head][query - chunk.begin];
      std::vector<float> values(found.span().begin(), found.span().end());
      EXPECT_LE(values.size(), keys);
      values.resize(keys, 0.0F);
      return values;
    }
    return {};
  }

  struct Chunk {
    std::size_t begin = 0;
    std::size_t queries = 0;
    std::vector<Tensor<float>> layers;  // [head, query, key]
  };
  std::vector<Chunk> chunks;
};

}  // namespace attnflow::test

#endif  // ATTNFLOW_MODEL_TORCH_DECODER_SINKS_FOR_TEST_H_
