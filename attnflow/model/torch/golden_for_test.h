// Compares a model's attention and logits with golden files, one layer at a time.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/files/array_file.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/model/model.h"
#include "attnflow/model/model_for_test.h"
#include "attnflow/model/numbers_for_test.h"

namespace attnflow::test {

// Float32 sums in a different order differ by about 1e-6 after a dozen layers; the bounds allow for other BLASes.
inline constexpr double kAttentionTolerance = 2e-5;
inline constexpr double kPredictionTolerance = 1e-4;
// Relative to the largest gradient if that is above 1. Golden gradients are in float64; where PyTorch's float32 pass is
// further from them than this, ours may be too, by up to a few times that distance.
inline constexpr double kGradientTolerance = 1e-5;
inline constexpr double kRoundings = 4;

// For two float32 passes cut differently: a few units in the last place of 6e-8, amplified by these models' large
// weights. It depends on the processor's vector width (5e-6 observed with AVX-512).
inline constexpr double kBatchTolerance = 1e-5;

// The targets of the golden gradients for classifiers; their names in the arrays follow.
inline const std::array<ScoreTarget, 3> kTargets = {{
    {ScoreTarget::Kind::kLogit, 1, {}},
    {ScoreTarget::Kind::kProbability, 0, {}},
    {ScoreTarget::Kind::kProbabilityDifference, 2, {0}},
}};
inline const std::array<std::string, 3> kTargetNames = {"logit", "probability", "difference"};

// Expects the golden gradient and value of the target `name`, read by array(key). The value is as precise as a number
// of size `scale`, or 1.
template <typename ReadArray>
void expect_gradient(const InputGradient& found, const std::string& name, const ReadArray& array, double scale) {
  const double rounding = array(name + "_gradient_rounding").to_double("rounding").data()[0];
  expect_close(found.gradient, array(name + "_gradient").to_float("gradient"),
               std::max(kGradientTolerance, kRoundings * rounding));
  const double value = array(name + "_value").to_double("value").data()[0];
  EXPECT_NEAR(found.value, value, kGradientTolerance * std::max(1.0, scale));
}

// Expects classify() and input_gradients() of many inputs to be those of each alone.
template <typename Model, typename Input>
void expect_batch_is_each_alone(Model& model, const std::vector<Input>& inputs) {
  const std::vector<ScoreTarget> targets(inputs.size(), kTargets[2]);
  const std::vector<Tensor<float>> logits = model.classify(inputs);
  const std::vector<InputGradient> gradients = gradients_of(model).input_gradients(inputs, targets);
  ASSERT_EQ(logits.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SCOPED_TRACE("input " + std::to_string(i));
    expect_close(logits[i], model.run(inputs[i], nullptr).logits, kBatchTolerance);
    const std::vector<InputGradient> alone = gradients_of(model).input_gradients({&inputs[i], 1}, {&targets[i], 1});
    expect_close(gradients[i].embedding, alone.at(0).embedding, kBatchTolerance);
    expect_close(gradients[i].gradient, alone.at(0).gradient, kGradientTolerance);
  }
}

// Replaces a copy's weights with random ones, with extents mapped by `wider`, and removes tensors whose names contain
// `without`. Names with `scale`, the norms' scales, get values near 1, and those with `zero` get 0.
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

  // [layer, head, query, key].
  void expect_close_to(const Tensor<float>& expected) const {
    ASSERT_EQ(expected.rank(), 4U);
    ASSERT_EQ(layers, expected.extent(0));
    ASSERT_EQ(shape, Shape(expected.shape().begin() + 1, expected.shape().end()));
    EXPECT_LE(largest_difference(values, expected.span()), kAttentionTolerance);
  }
  void expect_rows_sum_to_one() const {
    const std::size_t n = shape.at(2);
    for (auto row = values.begin(); row != values.end(); row += static_cast<std::ptrdiff_t>(n))
      EXPECT_NEAR(std::accumulate(row, row + static_cast<std::ptrdiff_t>(n), 0.0), 1.0, 1e-6);
  }

  std::size_t layers = 0;
  Shape shape;                // [head, query, key]
  std::vector<float> values;  // [layer, head, query, key]
};

inline Array case_array(const std::filesystem::path& file, std::size_t number, const std::string& name) {
  return read_npz(file, "case" + std::to_string(number) + "_" + name);
}

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
