#include "attnflow/model/checkpoint.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/model/model_for_test.h"

namespace attnflow::checkpoint_test {
namespace {

using Json = nlohmann::json;
using test::expect_error;
using test::ModelCopy;

void expect_bad(const std::filesystem::path& folder, const std::vector<std::string>& words) {
  expect_error(ErrorKind::kBadFile, words, [&] { Checkpoint checkpoint(folder); });
}

template <typename Edit>
void edit_index(const ModelCopy& model, const Edit& edit) {
  const std::filesystem::path path = model.path() / "model.safetensors.index.json";
  Json index = Json::parse(test::get(path));
  edit(index);
  test::put(path, index.dump());
}

TEST(Checkpoint, FolderWithoutWeightsSaysWhatToDo) {
  const test::TempFolder folder;
  expect_bad(folder.path(), {"model.safetensors", "model.safetensors.index.json", "neither"});
  test::put(folder / "tf_model.h5", "x");
  expect_bad(folder.path(), {"another format", "save_pretrained"});
  test::put(folder / "pytorch_model.bin", "x");
  expect_bad(folder.path(), {"pytorch_model.bin", "pickle", "run code", "weights_only=True", "save_file"});
}

TEST(Checkpoint, TruncatedAtAnyLengthIsRefused) {
  const ModelCopy model("bert_base");
  const std::filesystem::path file = model.path() / "model.safetensors";
  const std::string bytes = test::get(file);
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{500}, bytes.size() / 2, bytes.size() - 1}) {
    test::put(file, std::string_view(bytes).substr(0, length));
    expect_bad(model.path(), {file.string()});
  }
}

TEST(Checkpoint, ReadsShards) {
  const Checkpoint checkpoint(test::golden_models() / "bert_sharded");
  std::set<std::string> files;
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    EXPECT_EQ(tensor.name, name);
    files.insert(tensor.file);
  }
  EXPECT_EQ(files.size(), 2U);
  EXPECT_NE(checkpoint.source().find("index.json"), std::string::npos);
  EXPECT_EQ(checkpoint.find("no such tensor"), nullptr);
}

TEST(Checkpoint, OneFileIsPreferredToShards) {
  const ModelCopy model("bert_sharded");
  std::filesystem::copy(test::golden_models() / "bert_base" / "model.safetensors", model.path());
  EXPECT_EQ(Checkpoint(model.path()).source(), (model.path() / "model.safetensors").string());
}

TEST(Checkpoint, MissingShardIsNamed) {
  const ModelCopy model("bert_sharded");
  std::filesystem::remove(model.path() / "model-00002-of-00002.safetensors");
  expect_bad(model.path(), {"2 shards", "1 is missing", "model-00002-of-00002.safetensors"});
  std::filesystem::remove(model.path() / "model-00001-of-00002.safetensors");
  expect_bad(model.path(), {"2 are missing", "model-00001-of-00002.safetensors"});
}

TEST(Checkpoint, ShardsStayInTheFolder) {
  for (const Json& shard : {Json("../model.safetensors"), Json("/etc/passwd"), Json("a\\b"), Json(".."), Json(""),
                            Json(std::string("a\0b", 3)), Json(3)}) {
    const ModelCopy model("bert_sharded");
    edit_index(model, [&](Json& index) { index["weight_map"].begin().value() = shard; });
    expect_bad(model.path(), {"index.json", "in the same folder"});
  }
}

TEST(Checkpoint, IndexAndShardsMustAgree) {
  const ModelCopy model("bert_sharded");
  edit_index(model, [](Json& index) { index["weight_map"]["bert.extra"] = "model-00001-of-00002.safetensors"; });
  expect_bad(model.path(), {"\"bert.extra\"", "model-00001-of-00002.safetensors", "does not hold it"});
  edit_index(model, [](Json& index) {
    index["weight_map"].erase("bert.extra");
    for (auto& shard : index["weight_map"]) {
      shard = shard == "model-00001-of-00002.safetensors" ? "model-00002-of-00002.safetensors"
                                                          : "model-00001-of-00002.safetensors";
    }
  });
  expect_bad(model.path(), {"does not hold it"});
  std::filesystem::copy(model.path() / "model-00001-of-00002.safetensors", model.path() / "twice.safetensors");
  edit_index(model, [](Json& index) { index["weight_map"].begin().value() = "twice.safetensors"; });
  expect_bad(model.path(), {"once", "twice.safetensors"});
}

TEST(Checkpoint, IndexMustHoldAMap) {
  const ModelCopy model("bert_sharded");
  const std::filesystem::path index = model.path() / "model.safetensors.index.json";
  for (const std::string text : {"{}", "{\"weight_map\": 3}", "{\"weight_map\": {}}"}) {
    test::put(index, text);
    expect_bad(model.path(), {"weight_map"});
  }
  test::put(index, "{\"weight_map\": ");
  expect_bad(model.path(), {"index.json", "JSON"});
}

}  // namespace
}  // namespace attnflow::checkpoint_test
