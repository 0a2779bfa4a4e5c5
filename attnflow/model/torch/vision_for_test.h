// The small random vision transformers of tests/golden/vision, and others of any size.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/base/random.h"
#include "attnflow/files/array_file.h"
#include "attnflow/model/model_weights.h"
#include "attnflow/model/torch/golden_for_test.h"

namespace attnflow::test {

inline Array vision_array(const std::string& model, std::size_t number, const std::string& key) {
  return case_array(golden_vision() / (model + ".npz"), number, key);
}

inline PixelInput vision_input(const std::string& model, std::size_t number) {
  PixelInput input;
  input.pixels = vision_array(model, number, "pixels").to_float("pixels");
  return input;
}

inline std::vector<PixelInput> vision_inputs(const nlohmann::json& golden) {
  std::vector<PixelInput> inputs;
  for (std::size_t number = 0; number < golden.at("cases").size(); ++number) {
    inputs.push_back(vision_input(golden.at("name").get<std::string>(), number));
  }
  return inputs;
}

// An image or text classifier with random weights, in a folder of its own. `config` is a config.json without labels.
class NewVision {
 public:
  NewVision(nlohmann::json config, std::size_t classes, std::uint64_t seed) {
    for (std::size_t c = 0; c < classes; ++c) config["id2label"][std::to_string(c)] = "class " + std::to_string(c);
    config_ = config.dump();
    std::map<std::string, Tensor<float>> weights;
    Random random(seed);
    const ModelConfig parsed = parse_model_config(config_, "config.json");
    for (const PlannedTensor& plan : plan_tensors(parsed, ModelHead::kClassification, classes)) {
      Tensor<float> tensor(plan.shape);
      if (plan.kind == PlannedTensor::Kind::kNormScale) {
        std::fill(tensor.span().begin(), tensor.span().end(), 1.0F);
      } else if (plan.kind == PlannedTensor::Kind::kMatrix) {
        const double deviation = plan.shape.size() == 2 ? 1.0 / std::sqrt(static_cast<double>(plan.shape[1])) : 0.1;
        for (float& value : tensor.span()) value = static_cast<float>(deviation * random.normal());
      }
      weights.emplace(plan.name, std::move(tensor));
    }
    write(path(), weights);
  }

  const std::filesystem::path& path() const { return folder_.path(); }

  void write(const std::filesystem::path& folder, const std::map<std::string, Tensor<float>>& weights) const {
    std::vector<NamedArray> arrays;
    for (const auto& [name, tensor] : weights) arrays.push_back({name, Array::from(tensor.view())});
    put(folder / "config.json", config_);
    write_safetensors(folder / "model.safetensors", arrays);
  }

 private:
  TempFolder folder_;
  std::string config_;
};

inline Tensor<float> random_pixels(Random& random, Shape shape) {
  Tensor<float> pixels(std::move(shape));
  for (float& pixel : pixels.span()) pixel = static_cast<float>(random.normal());
  return pixels;
}

}  // namespace attnflow::test
