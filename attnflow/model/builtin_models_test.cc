#include "attnflow/model/builtin_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "attnflow/base/error.h"
#include "attnflow/image/image_processor.h"
#include "attnflow/model/checkpoint.h"
#include "attnflow/model/model_card.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/model_for_test.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow::builtin_models_test {
namespace {

using test::expect_error;
using test::golden_models;

// A folder on disk, read into memory.
class ModelInMemory {
 public:
  explicit ModelInMemory(const std::filesystem::path& path) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      contents_[entry.path().filename().string()] = test::get(entry.path());
    }
  }

  std::string& content(const std::string& name) { return contents_.at(name); }
  BuiltinModel model(const std::string& name) const {
    BuiltinModel model{name, {}};
    for (const auto& [file, content] : contents_) model.files.push_back({file, std::as_bytes(std::span(content))});
    return model;
  }
  Folder folder() const { return model("small").folder(); }

 private:
  std::map<std::string, std::string> contents_;
};

TEST(ModelInMemory, IsReadAsTheFolderOnDisk) {
  for (const char* name : {"bert_classification", "bert_sharded", "roberta_masked_lm", "bert_float16"}) {
    SCOPED_TRACE(name);
    const std::filesystem::path disk = golden_models() / name;
    const ModelInMemory memory(disk);
    const ModelInfo expected = ModelFiles(disk).info();
    const ModelInfo info = ModelFiles(memory.folder()).info();
    EXPECT_EQ(info.name, "small");
    EXPECT_EQ(info.architecture, expected.architecture);
    EXPECT_EQ(info.layers, expected.layers);
    EXPECT_EQ(info.labels, expected.labels);
    EXPECT_EQ(info.parameters, expected.parameters);

    const Checkpoint on_disk(disk);
    const Checkpoint in_memory(memory.folder());
    ASSERT_EQ(on_disk.tensors().size(), in_memory.tensors().size());
    for (const auto& [tensor, stored] : on_disk.tensors()) {
      const StoredTensor* const other = in_memory.find(tensor);
      ASSERT_NE(other, nullptr) << tensor;
      EXPECT_EQ(other->shape, stored.shape);
      EXPECT_TRUE(std::equal(other->bytes.begin(), other->bytes.end(), stored.bytes.begin(), stored.bytes.end()));
    }

    const Tokenizer there = Tokenizer::load(disk, expected.architecture);
    const Tokenizer here = Tokenizer::load(memory.folder(), info.architecture);
    EXPECT_NE(here.source().find("(built in)"), std::string::npos) << here.source();
    EXPECT_EQ(here.vocabulary_size(), there.vocabulary_size());
    const Encoding a = there.encode("the key to the cabinets");
    const Encoding b = here.encode("the key to the cabinets");
    ASSERT_EQ(a.tokens.size(), b.tokens.size());
    for (std::size_t i = 0; i < a.tokens.size(); ++i) EXPECT_EQ(a.tokens[i].id, b.tokens[i].id);
  }
}

TEST(ModelInMemory, DamagedFilesAreRefusedByTheModelsName) {
  const ModelInMemory whole(golden_models() / "bert_classification");
  const auto refused = [&](const std::string& file, const std::string& content) {
    ModelInMemory damaged = whole;
    damaged.content(file) = content;
    expect_error(ErrorKind::kBadFile, {"small/" + file + " (built in)"}, [&] {
      const ModelInfo info = ModelFiles(damaged.folder()).info();
      Tokenizer::load(damaged.folder(), info.architecture);
    });
  };
  ModelInMemory source = whole;
  const std::string weights = source.content("model.safetensors");
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{500}, weights.size() / 2, weights.size() - 1}) {
    refused("model.safetensors", weights.substr(0, size));
  }
  std::string header = weights;
  header.replace(8, 4, "####");
  refused("model.safetensors", header);
  refused("config.json", "");
  refused("config.json", source.content("config.json").substr(0, 20));
  refused("vocab.txt", "no special tokens");
  refused("tokenizer_config.json", "[");
}

TEST(ModelInMemory, MissingFilesAreNamed) {
  const ModelInMemory whole(golden_models() / "bert_classification");
  const auto without = [&](std::string_view name) {
    std::vector<MemoryFile> files = whole.model("small").files;
    std::erase_if(files, [&](const MemoryFile& file) { return file.name == name; });
    return Folder::built_in("small", files);
  };
  expect_error(ErrorKind::kBadFile, {"small (built in)", "config.json"},
               [&] { ModelFiles(without("config.json")).info(); });
  expect_error(ErrorKind::kBadFile, {"small (built in)", "model.safetensors"},
               [&] { ModelFiles(without("model.safetensors")).info(); });
  expect_error(ErrorKind::kBadFile, {"small (built in)", "tokenizer.json"},
               [&] { Tokenizer::load(without("vocab.txt")); });
}

TEST(FindModel, NameOrPath) {
  const ModelInMemory memory(golden_models() / "bert_classification");
  const std::vector<BuiltinModel> models = {memory.model("agreement"), memory.model("other")};
  EXPECT_EQ(find_builtin_model("other", models), &models[1]);
  EXPECT_EQ(find_builtin_model("othe", models), nullptr);
  EXPECT_EQ(builtin_model_names(models), "agreement, other");
  EXPECT_EQ(builtin_model_names({}), "none");

  EXPECT_TRUE(find_model("agreement", models).is_built_in());
  EXPECT_FALSE(find_model("./agreement", models).is_built_in());
  EXPECT_FALSE(find_model(golden_models().string(), models).is_built_in());

  // A folder with a built-in model's name needs a path with a slash.
  const test::TempFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  std::filesystem::create_directory("agreement");
  std::filesystem::create_directory("mine");
  EXPECT_TRUE(find_model("agreement", models).is_built_in());
  EXPECT_FALSE(find_model("./agreement", models).is_built_in());
  EXPECT_FALSE(find_model("agreement/", models).is_built_in());
  EXPECT_FALSE(find_model("mine", models).is_built_in());
  EXPECT_FALSE(find_model("agreement", {}).is_built_in());
  EXPECT_FALSE(find_model(".", models).is_built_in());
  std::filesystem::current_path(before);
}

TEST(FindModel, NeitherNameNorPath) {
  const ModelInMemory memory(golden_models() / "bert_classification");
  const std::vector<BuiltinModel> models = {memory.model("agreement")};
  expect_error(ErrorKind::kBadFile, {"agrement: ", "folder", "(agreement)", "nothing of that name"},
               [&] { find_model("agrement", models); });
  expect_error(ErrorKind::kBadFile, {"agreement: ", "(none)"}, [&] { find_model("agreement", {}); });
  expect_error(ErrorKind::kBadFile, {"\"\": "}, [&] { find_model("", models); });
  expect_error(ErrorKind::kBadFile, {"./agreement: ", "nothing of that name"},
               [&] { ModelFiles(find_model("./agreement", models)).info(); });
}

// Checks the models of this build.
TEST(BuiltinModels, CanBeReadAndSayWhatTheyAre) {
  ASSERT_FALSE(builtin_models().empty());
  std::set<std::string> names;
  for (const BuiltinModel& model : builtin_models()) {
    SCOPED_TRACE(model.name);
    EXPECT_TRUE(names.insert(model.name).second);
    EXPECT_EQ(find_builtin_model(model.name), &model);
    const ModelInfo info = ModelFiles(model.folder()).info();
    EXPECT_EQ(info.name, model.name);
    EXPECT_GT(info.parameters, 0U);
    if (info.image) {
      const ImageProcessor processor = read_image_processor(model.folder().read("preprocessor_config.json"), model.name,
                                                            {info.image->channels, info.architecture});
      const InputGeometry geometry = input_geometry(100, 200, processor);
      EXPECT_NO_THROW(image_tokens(*info.image, geometry.input_height, geometry.input_width));
    } else {
      const Tokenizer tokenizer = Tokenizer::load(model.folder(), info.architecture);
      EXPECT_LE(tokenizer.id_limit(), info.vocabulary);
    }
    const std::optional<ModelCard> card = read_model_card(model.folder());
    ASSERT_TRUE(card);
    EXPECT_NE(card->licence, "");
    EXPECT_NE(card->summary, "");
    for (const MemoryFile& file : model.files) {
      EXPECT_GT(file.bytes.size(), 0U) << file.name;
      // Tensors that are aligned in the file are aligned in memory.
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.bytes.data()) % 64, 0U) << file.name;
    }
  }
}

}  // namespace
}  // namespace attnflow::builtin_models_test
