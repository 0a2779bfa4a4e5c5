// Shared by model tests: the small random models of tests/golden, and modified copies of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attnflow/files/files_for_test.h"
#include "attnflow/model/model.h"
#include "attnflow/model/tensor_finder.h"

namespace attnflow::test {

// Sets an environment variable for the duration of a test.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = ::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

inline std::filesystem::path golden_folder(const std::string& name) {
  return std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests" / "golden" / name;
}
inline std::filesystem::path golden_models() { return golden_folder("models"); }
inline std::filesystem::path golden_decoders() { return golden_folder("decoders"); }
inline std::filesystem::path golden_vision() { return golden_folder("vision"); }

// Returns the "models" of a folder's index.json.
inline nlohmann::json models_of(const std::filesystem::path& folder) {
  return nlohmann::json::parse(get(folder / "index.json")).at("models");
}
inline nlohmann::json golden_index() { return models_of(golden_models()); }
inline nlohmann::json decoder_index() { return models_of(golden_decoders()); }
inline nlohmann::json vision_index() { return models_of(golden_vision()); }

inline void expect_sizes(const ModelInfo& info, const nlohmann::json& golden) {
  EXPECT_EQ(info.name, golden.at("name"));
  EXPECT_EQ(info.layers, golden.at("layers"));
  EXPECT_EQ(info.heads, golden.at("heads"));
  EXPECT_EQ(info.hidden, golden.at("hidden"));
  EXPECT_EQ(info.vocabulary, golden.at("vocabulary"));
  EXPECT_EQ(info.architecture, golden.value("architecture", info.architecture));
  EXPECT_EQ(info.key_value_heads, golden.value("key_value_heads", info.key_value_heads));
  EXPECT_EQ(info.max_tokens, golden.value("max_tokens", info.max_tokens));
  EXPECT_EQ(info.parameters, golden.value("parameters", info.parameters));
  EXPECT_GT(info.parameters, info.vocabulary);
}

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

inline ModelCopy decoder_copy(const std::string& name) { return {golden_decoders(), name}; }

template <typename IsUnused>
std::vector<PlannedTensor> stored_tensors(const std::filesystem::path& folder, const IsUnused& is_unused) {
  std::vector<PlannedTensor> tensors;
  const WeightsFile weights = WeightsFile::read(folder / "model.safetensors");
  for (const auto& [name, entry] : weights.header.items()) {
    if (name != "__metadata__" && !is_unused(name)) tensors.push_back({name, Shape(entry.at("shape"))});
  }
  return tensors;
}

// Expects that a model with the tensors of `plan` reports each that is missing, by its usual name today, and rejects
// each in another shape. Without one of `marks`, which identify a head, it has no head. `find` looks for the weights.
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
    expect_error(ErrorKind::kBadFile, {file.string(), "\"" + tensor.name + "\"", "expected [", "config.json"},
                 [&] { find(model.path()); });
    damaged = intact;
    damaged.rename(tensor.name, "set.aside");
    damaged.write(file);
    if (marks.contains(tensor.name)) {
      const ModelHead head = find(model.path()).info.head;  // without the head that this marks
      EXPECT_TRUE(head == ModelHead::kNone || head == ModelHead::kEmbedding);
      continue;
    }
    const bool scale = tensor.name.ends_with(".gamma");
    const std::string stem = tensor.name.substr(0, tensor.name.rfind('.'));
    const std::string usual = scale ? stem + ".weight" : tensor.name.ends_with(".beta") ? stem + ".bias" : tensor.name;
    expect_error(ErrorKind::kBadFile, {file.string(), "1 of them missing: \"" + usual + "\""},
                 [&] { find(model.path()); });
  }
  intact.write(file);
}

}  // namespace attnflow::test
