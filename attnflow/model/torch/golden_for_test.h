// Compares a model's attention and logits with golden files, one layer at a time.
#ifndef ATTNFLOW_MODEL_TORCH_GOLDEN_FOR_TEST_H_
#define ATTNFLOW_MODEL_TORCH_GOLDEN_FOR_TEST_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/files/array_file.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/model.h"
#include "attnflow/model/model_for_test.h"

namespace attnflow::test {

// Float32 sums in a different order differ by about 1e-6 after a dozen layers; the bounds that the project promises
// leave room for another BLAS.
inline constexpr double kAttentionTolerance = 2e-5;
inline constexpr double kPredictionTolerance = 1e-4;
// Relative to the largest gradient if that is above 1. The golden gradients use float64 arithmetic; if PyTorch's own
// float32 pass is further from them than this, ours may be too, by up to a few times that distance.
inline constexpr double kGradientTolerance = 1e-5;
inline constexpr double kRoundings = 4;

// The targets of the golden gradients for classifiers; their names in the arrays follow.
inline constexpr std::array<ScoreTarget, 3> kTargets = {{
    {ScoreTarget::Kind::kLogit, 1, 0},
    {ScoreTarget::Kind::kProbability, 0, 0},
    {ScoreTarget::Kind::kProbabilityDifference, 2, 0},
}};
inline const std::array<std::string, 3> kTargetNames = {"logit", "probability", "difference"};

// Returns the largest difference; infinite when a value is not a number, so that NaN fails every bound.
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

// Returns the largest absolute value.
inline double largest(std::span<const float> values) {
  double result = 0.0;
  for (const float value : values) result = std::max(result, std::abs(static_cast<double>(value)));
  return result;
}

// Expects tensors or views of the same shape, within `tolerance` times the largest expected number, or times 1 if that
// is larger.
template <typename Found, typename Expected>
void expect_close(const Found& found, const Expected& expected, double tolerance) {
  ASSERT_EQ(found.shape(), expected.shape());
  EXPECT_LE(largest_difference<float>(found.span(), expected.span()),
            tolerance * std::max(1.0, largest(expected.span())));
}

// Replaces a copy's weights with random ones, with extents mapped by `wider`, and removes tensors whose names contain
// `without`. Tensors whose names contain `scale`, the norms' scales, are near 1, and those whose names contain `zero`
// are 0.
inline void widen(const ModelCopy& copy, const std::map<std::size_t, std::size_t>& wider, const std::string& without,
                  const std::string& scale, const std::string& zero = {}) {
  copy.edit_weights([&](WeightsFile& weights) {
    std::mt19937 random(1);
    WeightsFile made;
    for (const auto& [name, tensor] : weights.header.items()) {
      if (name == "__metadata__" || name.find(without) != std::string::npos) continue;
      Shape shape;
      for (const std::size_t extent : tensor.at("shape")) {
        shape.push_back(wider.contains(extent) ? wider.at(extent) : extent);
      }
      const bool is_zero = !zero.empty() && name.find(zero) != std::string::npos;
      const float mean = name.find(scale) != std::string::npos ? 1.0F : 0.0F;
      std::vector<float> values(element_count(shape));
      for (float& value : values) {
        const auto uniform = static_cast<float>(static_cast<double>(random()) / 4294967296.0 - 0.5);
        value = is_zero ? 0.0F : mean + 0.2F * uniform;
      }
      made.add(name, values);
      made.header[name]["shape"] = shape;
    }
    weights = std::move(made);
  });
}

// Keeps the whole stack, and checks that layers arrive as the interface promises.
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
