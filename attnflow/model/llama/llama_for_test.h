// Shared by tests of the llama backend: the small models of tests/golden/gguf, and a sink that keeps everything.
#ifndef ATTNFLOW_MODEL_LLAMA_LLAMA_FOR_TEST_H_
#define ATTNFLOW_MODEL_LLAMA_LLAMA_FOR_TEST_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "attnflow/files/array_file.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/model_files.h"

namespace attnflow::test {

inline std::filesystem::path golden_gguf() {
  return std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests" / "golden" / "gguf";
}

inline nlohmann::json gguf_index() { return nlohmann::json::parse(get(golden_gguf() / "index.json")); }

// Allowed difference from transformers, which also computes in float32. Gemma's GELU is a table of half-precision
// numbers in libllama, whose steps, 5e-4 of a value, cause the difference.
struct GgufTolerance {
  double attention = 2e-5;
  double logits = 1e-4;
};
inline GgufTolerance gguf_tolerance(const std::string& model) {
  return model == "gemma2" ? GgufTolerance{2e-3, 1e-2} : GgufTolerance{};
}

// Loads on one thread unless specified otherwise: the models are too small for several.
inline std::unique_ptr<Decoder> load_small(const std::string& name, const LoadOptions& options = {}) {
  LoadOptions few = options;
  if (few.threads == 0) few.threads = 1;
  return ModelFiles::gguf(golden_gguf() / (name + ".gguf")).load_decoder(few);
}

inline std::vector<std::int64_t> golden_ids(const std::string& name) {
  const Tensor<std::int64_t> ids = read_npz(golden_gguf() / (name + ".npz"), "ids").to_int64("ids");
  return {ids.span().begin(), ids.span().end()};
}

// Returns the largest difference; infinite when a value is not a number, so that NaN fails every bound.
inline double largest_difference(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest))
      largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
  }
  return largest;
}

// Keeps every row, and checks that chunks arrive as the interface promises: all layers of one before the next, keys up
// to the last query.
class RowsSink : public AttentionSink {
 public:
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override {
    ASSERT_EQ(attention.rank(), 3U);
    const std::size_t queries = attention.extent(1);
    ASSERT_EQ(attention.extent(2), query_begin + queries);
    if (layer == 1) {
      EXPECT_TRUE(last_layer_ == 0 || last_layer_ == rows_.size());
      EXPECT_EQ(query_begin, tokens_);
      tokens_ += queries;
    } else {
      EXPECT_EQ(layer, last_layer_ + 1);
      EXPECT_EQ(query_begin + queries, tokens_);
    }
    last_layer_ = layer;
    if (rows_.size() < layer) rows_.resize(layer);
    std::vector<std::vector<std::vector<float>>>& heads = rows_[layer - 1];
    heads.resize(attention.extent(0));
    for (std::size_t head = 0; head < heads.size(); ++head) {
      for (std::size_t query = 0; query < queries; ++query) {
        const std::span<const float> row = attention[head][query].span();
        heads[head].emplace_back(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(query_begin + query + 1));
      }
    }
  }

  std::size_t layers() const { return rows_.size(); }
  std::size_t heads() const { return rows_.at(0).size(); }
  std::size_t tokens() const { return tokens_; }
  // Returns the row of a query: its weights up to itself. Layers count from 1.
  const std::vector<float>& row(std::size_t layer, std::size_t head, std::size_t query) const {
    return rows_.at(layer - 1).at(head).at(query);
  }
  // Whether the numbers are bitwise the same.
  friend bool operator==(const RowsSink& a, const RowsSink& b) { return a.rows_ == b.rows_; }

 private:
  std::vector<std::vector<std::vector<std::vector<float>>>> rows_;  // [layer][head][query][key]
  std::size_t tokens_ = 0;
  std::size_t last_layer_ = 0;
};

// Returns the largest difference between two runs over the same tokens.
inline double largest_difference(const RowsSink& a, const RowsSink& b) {
  if (a.layers() != b.layers() || a.tokens() != b.tokens() || a.layers() == 0 || a.heads() != b.heads())
    return std::numeric_limits<double>::infinity();
  double largest = 0.0;
  for (std::size_t layer = 1; layer <= a.layers(); ++layer) {
    for (std::size_t head = 0; head < a.heads(); ++head) {
      for (std::size_t query = 0; query < a.tokens(); ++query)
        largest = std::max(largest, largest_difference(a.row(layer, head, query), b.row(layer, head, query)));
    }
  }
  return largest;
}

}  // namespace attnflow::test

#endif  // ATTNFLOW_MODEL_LLAMA_LLAMA_FOR_TEST_H_
