#include "attnflow/model/hub_cache.h"

#include <gtest/gtest.h>

#include "attnflow/model/builtin_models.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/model_for_test.h"

namespace attnflow::hub_cache_test {
namespace {

namespace fs = std::filesystem;
using test::expect_error;

class HubCache : public testing::Test {
 protected:
  static constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

  fs::path fetch(const std::string& folder, const std::string& commit = kCommit) const {
    const fs::path snapshot = cache_.path() / folder / "snapshots" / commit;
    fs::create_directories(snapshot.parent_path());
    fs::create_directories(cache_.path() / folder / "refs");
    fs::copy(test::golden_models() / "bert_masked_lm", snapshot);
    test::put(cache_.path() / folder / "refs" / "main", commit + "\n");
    return cache_.path() / folder;
  }

  const test::TempFolder cache_;
  const test::Environment variable_{"HF_HUB_CACHE", cache_.path().string()};
};

TEST_F(HubCache, IsWhereTheVariablesSay) {
  EXPECT_EQ(fs::path(*hub_cache()).lexically_normal(), (cache_.path() / "").lexically_normal());
  ::unsetenv("HF_HUB_CACHE");
  const test::Environment home("HF_HOME", "/somewhere");
  EXPECT_EQ(*hub_cache(), "/somewhere/hub");
}

TEST_F(HubCache, NamesAreFound) {
  fetch("models--org--some-model");
  fetch("models--bert-base-uncased");
  for (const std::string name : {"org/some-model", "bert-base-uncased"}) {
    const Folder folder = find_model(name, {});
    EXPECT_EQ(folder.name(), name);
    const ModelInfo info = ModelFiles(folder).info();
    EXPECT_EQ(info.name, name);
    EXPECT_EQ(info.architecture, "bert");
  }
  expect_error(
      ErrorKind::kBadFile,
      {"org/other: ", "nothing of that name", "does not download", "hf download org/other", cache_.path().string()},
      [] { find_model("org/other", {}); });
  expect_error(ErrorKind::kBadFile, {"hf download roberta-base"}, [] { find_model("roberta-base", {}); });
  // Not a valid name, so a path: the message does not suggest a download.
  EXPECT_EQ(find_model("a/b/c", {}).path(), "a/b/c");
  EXPECT_EQ(find_model("../org", {}).path(), "../org");
}

TEST_F(HubCache, ItsFoldersAreOpened) {
  const fs::path model = fetch("models--org--some-model");
  for (const fs::path& path : {model, model / "", model / "snapshots" / kCommit, model / "snapshots" / kCommit / ""}) {
    SCOPED_TRACE(path);
    EXPECT_EQ(ModelFiles(find_model(path.string(), {})).info().name, "org/some-model");
  }
  // Without refs/main, a snapshot is found only if it is the only one.
  fetch("models--org--some-model", "fedcba9876543210");
  EXPECT_EQ(model_folder_in(model).path(), model / "snapshots" / "fedcba9876543210");
  fs::remove(model / "refs" / "main");
  EXPECT_EQ(model_folder_in(model).path(), model);
  expect_error(ErrorKind::kBadFile, {"no config.json"}, [&] { ModelFiles(model_folder_in(model)).info(); });
  fs::remove_all(model / "snapshots" / "fedcba9876543210");
  EXPECT_EQ(model_folder_in(model).path(), model / "snapshots" / kCommit);
  // A reference that leads outside, or to an incomplete snapshot, is not followed, nor replaced by another snapshot.
  for (const char* const commit : {"../../../elsewhere", "aaaaaaaaaaaaaaaa"}) {
    test::put(model / "refs" / "main", commit);
    expect_error(ErrorKind::kBadFile, {commit, "hf download"}, [&] { (void)model_folder_in(model); });
  }
}

TEST(SentenceTransformers, TheTransformerInItIsOpened) {
  const test::TempFolder folder;
  const fs::path model = folder / "embedder";
  fs::create_directory(model);
  fs::copy(test::golden_models() / "bert_base", model / "0_Transformer");
  fs::create_directory(model / "1_Pooling");
  const auto modules = [&](const std::string& path) {
    return R"([{"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
               {"idx": 0, "name": "0", "path": ")" +
           path + R"(", "type": "sentence_transformers.models.Transformer"}])";
  };
  test::put(model / "modules.json", modules("0_Transformer"));
  EXPECT_EQ(ModelFiles(find_model(model.string(), {})).info().name, "embedder");
  EXPECT_EQ(model_folder_in(model).path(), model / "0_Transformer");
  test::put(model / "modules.json", modules("../elsewhere"));
  expect_error(ErrorKind::kBadFile, {"modules.json", "../elsewhere"}, [&] { model_folder_in(model); });
  test::put(model / "modules.json", "{}");
  expect_error(ErrorKind::kBadFile, {"modules.json", "list"}, [&] { model_folder_in(model); });
  // The newer layout: the model is in the folder itself.
  fs::copy(test::golden_models() / "bert_base", model, fs::copy_options::recursive);
  EXPECT_EQ(model_folder_in(model).path(), model);
}

TEST_F(HubCache, AnAdapterComesWithItsBase) {
  fetch("models--org--base");
  const test::TempFolder folder;
  const auto name_base = [](const fs::path& at, const std::string& base) {
    test::put(at / "adapter_config.json", nlohmann::json{{"base_model_name_or_path", base}}.dump());
  };
  name_base(folder.path(), "org/base");
  const Folder found = model_folder_in(folder.path());
  ASSERT_NE(found.adapter(), nullptr);
  EXPECT_EQ(found.adapter()->path(), folder.path());
  EXPECT_EQ(found.name(), Folder(folder.path()).name());
  EXPECT_TRUE(found.has("config.json"));

  // The base is in a folder next to the adapter.
  const fs::path snapshot = fetch("models--org--adapter") / "snapshots" / kCommit;
  fs::remove(snapshot / "config.json");
  name_base(snapshot, "org/base");
  const std::optional<Folder> cached = find_in_hub_cache("org/adapter", cache_.path());
  ASSERT_TRUE(cached && cached->adapter() != nullptr);
  EXPECT_EQ(cached->name(), "org/adapter");
  fs::copy(test::golden_models() / "bert_masked_lm", folder / "beside");
  name_base(folder.path(), "beside");
  EXPECT_EQ(model_folder_in(folder.path()).path(), folder / "beside");

  // The reader of the folder reports a base that does not exist or is an adapter.
  for (const std::string base : {"org/none", "org/adapter", ".", ""}) {
    name_base(folder.path(), base);
    EXPECT_EQ(model_folder_in(folder.path()).adapter(), nullptr) << base;
  }
}

}  // namespace
}  // namespace attnflow::hub_cache_test
