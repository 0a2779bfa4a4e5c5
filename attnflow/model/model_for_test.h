// Shared by model tests: the small random models of tests/golden, and modified copies of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "attnflow/files/files_for_test.h"
#include "attnflow/model/tensor_finder.h"

namespace attnflow::test {

inline std::filesystem::path golden_models() {
  return std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests" / "golden" / "models";
}

// Returns the "models" of tests/golden/models/index.json.
inline nlohmann::json golden_index() { return nlohmann::json::parse(get(golden_models() / "index.json")).at("models"); }

// The parts of a .safetensors file.
struct WeightsFile {
  nlohmann::json header;
  std::string data;

  static WeightsFile read(const std::filesystem::path& path) {
    const std::string bytes = get(path);
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    return {nlohmann::json::parse(bytes.substr(sizeof length, length)), bytes.substr(sizeof length + length)};
  }
  // `padding` spaces after the header shift the start of the data.
  void write(const std::filesystem::path& path, std::size_t padding = 0) const {
    const std::string text = header.dump() + std::string(padding, ' ');
    put(path, bytes_of(std::uint64_t{text.size()}) + text + data);
  }
  // Adds a tensor.
  void add(const std::string& name, const std::vector<float>& numbers = {0.5F}) {
    const std::size_t begin = data.size();
    for (const float number : numbers) data += bytes_of(number);
    header[name] = {{"dtype", "F32"}, {"shape", {numbers.size()}}, {"data_offsets", {begin, data.size()}}};
  }
  void rename(const std::string& from, const std::string& to) {
    header[to] = header.at(from);
    header.erase(from);
  }
};

// A copy of a golden model that a test may damage.
class ModelCopy {
 public:
  explicit ModelCopy(const std::string& name) : ModelCopy(golden_models(), name) {}
  ModelCopy(const std::filesystem::path& models, const std::string& name) : path_(folder_ / name) {
    std::filesystem::copy(models / name, path_);
  }
  // Creates a model from a config and a list of its tensors, filled with zeros.
  ModelCopy(const nlohmann::json& config, const std::vector<PlannedTensor>& tensors) : path_(folder_ / "made_up") {
    std::filesystem::create_directory(path_);
    put(path_ / "config.json", config.dump());
    WeightsFile weights;
    for (const PlannedTensor& tensor : tensors) {
      const std::size_t begin = weights.data.size();
      weights.data.resize(begin + element_count(tensor.shape) * sizeof(float));
      weights.header[tensor.name] = {
          {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, weights.data.size()}}};
    }
    weights.write(path_ / "model.safetensors");
  }

  const std::filesystem::path& path() const { return path_; }

  template <typename Edit>
  void edit_config(const Edit& edit) const {
    nlohmann::json config = nlohmann::json::parse(get(path_ / "config.json"));
    edit(config);
    put(path_ / "config.json", config.dump());
  }
  template <typename Edit>
  void edit_weights(const Edit& edit) const {
    WeightsFile weights = WeightsFile::read(path_ / "model.safetensors");
    edit(weights);
    weights.write(path_ / "model.safetensors");
  }

 private:
  TempFolder folder_;
  std::filesystem::path path_;
};

// Expects that a made-up model with the tensors of `plan` reports each of them by name if it is missing, except those
// in `marks`, which identify a head, and rejects each in another shape. `find` looks for the model's weights.
template <typename Find>
void expect_each_needed(const ModelCopy& model, const std::vector<PlannedTensor>& plan, const Find& find,
                        const std::set<std::string>& marks = {}) {
  const std::filesystem::path file = model.path() / "model.safetensors";
  const WeightsFile intact = WeightsFile::read(file);
  for (const PlannedTensor& tensor : plan) {
    SCOPED_TRACE(tensor.name);
    WeightsFile damaged = intact;
    damaged.header[tensor.name]["shape"].push_back(1);
    damaged.write(file);
    expect_error(ErrorKind::kBadFile, {tensor.name, "expected ["}, [&] { find(model.path()); });
    if (marks.contains(tensor.name)) continue;
    damaged = intact;
    damaged.rename(tensor.name, "set.aside");
    damaged.write(file);
    expect_error(ErrorKind::kBadFile, {"missing", tensor.name}, [&] { find(model.path()); });
  }
  intact.write(file);
}

}  // namespace attnflow::test
