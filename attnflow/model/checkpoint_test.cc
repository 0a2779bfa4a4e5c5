#include "attnflow/model/checkpoint.h"

#include <gtest/gtest.h>

#include <set>

#include "attnflow/base/error.h"
#include "attnflow/files/pytorch_for_test.h"
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
  expect_bad(folder.path(), {"model.safetensors", "model.safetensors.index.json", "neither", "pytorch_model.bin"});
  test::put(folder / "tf_model.h5", "x");
  expect_bad(folder.path(), {"another format", "save_pretrained"});
}

std::string pytorch_file(const std::string& name, float first) {
  namespace write = test::pickle;
  const std::string storage = write::storage("FloatStorage", "0", 2, false);
  const std::string tensor = write::tensor(storage, 0, {2}, {1});
  const std::string value = write::dict({{name, tensor}, {name + ".tied", tensor}});
  return test::pytorch_zip(value, {{"0", test::bytes_of(first) + test::bytes_of(2.0F)}}).write();
}

TEST(Checkpoint, ReadsFilesOfPytorch) {
  const test::TempFolder folder;
  test::put(folder / "pytorch_model.bin", pytorch_file("a", 1));
  const Checkpoint single(folder.path());
  EXPECT_EQ(single.source(), (folder / "pytorch_model.bin").string());
  ASSERT_NE(single.find("a"), nullptr);
  EXPECT_EQ(single.find("a")->shape, (Shape{2}));
  EXPECT_EQ(single.find("a")->bytes.data(), single.find("a.tied")->bytes.data());
  EXPECT_EQ(single.parameters(), 2U);  // numbers shared by two names are counted once
  std::filesystem::remove(folder / "pytorch_model.bin");

  test::put(folder / "pytorch_model-1.bin", pytorch_file("a", 1));
  test::put(folder / "pytorch_model-2.bin", pytorch_file("b", 3));
  const std::filesystem::path index = folder / "pytorch_model.bin.index.json";
  test::put(index, R"({"weight_map": {"a": "pytorch_model-1.bin", "b": "pytorch_model-2.bin"}})");
  const Checkpoint sharded(folder.path());
  EXPECT_EQ(sharded.source(), index.string());
  EXPECT_EQ(sharded.tensors().size(), 4U);
  EXPECT_EQ(sharded.parameters(), 4U);
  EXPECT_EQ(sharded.find("b")->file, (folder / "pytorch_model-2.bin").string());
  test::put(index, R"({"weight_map": {"a": "pytorch_model-1.bin", "c": "pytorch_model-2.bin"}})");
  expect_bad(folder.path(), {"expected tensor \"c\" in", "does not hold it"});
  test::put(index, R"({"weight_map": {"a": "pytorch_model-1.bin", "b": "pytorch_model-3.bin"}})");
  expect_bad(folder.path(), {"1 is missing", "pytorch_model-3.bin"});

  // Safetensors take precedence.
  std::filesystem::copy(test::golden_models() / "bert_base" / "model.safetensors", folder.path());
  EXPECT_EQ(Checkpoint(folder.path()).source(), (folder / "model.safetensors").string());
}

TEST(Checkpoint, RefusesAPickleThatIsMoreThanWeights) {
  const test::TempFolder folder;
  const std::string call = test::pickle::call(test::pickle::name("posix", "system"), {test::pickle::text("id")});
  test::put(folder / "pytorch_model.bin", test::pytorch_zip(call, {}).write());
  expect_bad(folder.path(),
             {"pytorch_model.bin", "weights only", "posix.system", "no code in the file was run", "unless you trust"});
  // The advice is a shell command, so no name from a file may appear in it that a shell would interpret.
  test::put(folder / "x'); import os; ('.bin", test::pytorch_zip(test::pickle::text("id"), {}).write());
  std::filesystem::remove(folder / "pytorch_model.bin");
  test::put(folder / "pytorch_model.bin.index.json", R"({"weight_map": {"a": "x'); import os; ('.bin"}})");
  expect_bad(folder.path(), {"torch.load('pytorch_model.bin'"});
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
  expect_bad(model.path(), {"expected tensor", "once", "twice.safetensors"});
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
