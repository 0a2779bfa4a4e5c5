// Comparing a model's attention and logits with golden files, one layer at a time.
#ifndef ATTNFLOW_MODEL_TORCH_GOLDEN_FOR_TEST_H_
#define ATTNFLOW_MODEL_TORCH_GOLDEN_FOR_TEST_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "attnflow/files/array_file.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/model_for_test.h"

namespace attnflow::test {

// Float32 sums in another order differ by about 1e-6 after a dozen layers; the bounds that the project promises leave
// room for another BLAS.
inline constexpr double kAttentionTolerance = 2e-5;
inline constexpr double kPredictionTolerance = 1e-4;

// The largest difference; infinite when a value is not a number, so that NaN fails every bound.
template <typename T>
double largest_difference(std::span<const T> a, std::span<const T> b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest))
      largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
  }
  return largest;
}

// Keeps the whole stack, and checks that layers come as the interface promises.
class StackSink : public AttentionSink {
 public:
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override {
    EXPECT_EQ(layer, ++layers);
    EXPECT_EQ(query_begin, 0U);
    EXPECT_EQ(attention.rank(), 3U);
    EXPECT_EQ(attention.extent(1), attention.extent(2));
    shape = attention.shape();
    values.insert(values.end(), attention.span().begin(), attention.span().end());
  }

  std::size_t layers = 0;
  Shape shape;                // [head, query, key]
  std::vector<float> values;  // [layer, head, query, key]
};

inline TextInput golden_input(const nlohmann::json& golden_case) {
  TextInput input;
  golden_case.at("ids").get_to(input.ids);
  golden_case.at("type_ids").get_to(input.type_ids);
  return input;
}

inline std::vector<std::size_t> to_positions(const Tensor<std::int64_t>& values) {
  std::vector<std::size_t> positions;
  for (const std::int64_t value : values.span()) positions.push_back(static_cast<std::size_t>(value));
  return positions;
}

}  // namespace attnflow::test

#endif  // ATTNFLOW_MODEL_TORCH_GOLDEN_FOR_TEST_H_
