// Files in a model's folder that exist but cannot be read: none of them may be treated as missing.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "attnflow/files/socket_for_test.h"
#include "attnflow/model/builtin_models.h"
#include "attnflow/model/hub_cache.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/model_for_test.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow::unreadable_files_test {
namespace {

namespace fs = std::filesystem;
using test::expect_error;

struct Way {
  const char* found;  // in the message
  std::function<void(const fs::path&)> put;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {
      {"found a link to ../blobs/0123, which is not there; if that is a cache of downloads, fetch the file again",
       [](const fs::path& path) { fs::create_symlink("../blobs/0123", path); }},
      {", which leads in a circle", [](const fs::path& path) { fs::create_symlink(path.filename(), path); }},
      {"found a folder", [](const fs::path& path) { fs::create_directory(path); }},
      {"found a pipe (FIFO)", [](const fs::path& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); }},
      {"found a socket", [](const fs::path& path) { const test::Socket socket(path); }},
  };
  return all;
}

void open(const std::string& folder) {
  const Folder found = find_model(folder);
  const ModelFiles files(found);
  const Tokenizer tokenizer = Tokenizer::load(found, files.info().architecture);
  if (found.has("chat_template.jinja")) (void)tokenizer.chat({{"user", "a"}});
}

TEST(UnreadableFiles, AreErrorsThatNameThem) {
  struct Row {
    const char* file;
    std::vector<const char*> without;  // files that would be read instead
    std::vector<std::pair<const char*, const char*>> with{};
  };
  const std::vector<Row> rows = {
      {"config.json", {"config.json"}},
      {"model.safetensors", {"model.safetensors"}},
      {"model.safetensors.index.json", {"model.safetensors"}},
      {"pytorch_model.bin", {"model.safetensors"}},
      {"pytorch_model.bin.index.json", {"model.safetensors"}},
      {"adapter_config.json", {}, {{"adapter_model.safetensors", ""}}},
      {"generation_config.json", {}},
      {"modules.json", {"config.json"}},
      {"tokenizer.json", {}},
      {"tokenizer_config.json", {"tokenizer_config.json"}},
      {"special_tokens_map.json", {}},
      {"added_tokens.json", {}},
      {"chat_template.jinja", {}},
      {"vocab.txt", {"vocab.txt"}},
      {"vocab.json", {"vocab.txt"}, {{"merges.txt", ""}}},
      {"merges.txt", {"vocab.txt", "tokenizer_config.json"}, {{"vocab.json", R"({"<s>": 0, "</s>": 1, "<unk>": 2})"}}},
      {"spiece.model", {"vocab.txt"}, {{"tokenizer_config.json", R"({"tokenizer_class": "T5Tokenizer"})"}}}};
  for (const Row& row : rows) {
    for (const Way& way : ways()) {
      const test::TempFolder temporary;
      fs::copy(test::golden_models() / "bert_masked_lm", temporary / "model");
      const fs::path folder = temporary / "model";
      open(folder);
      for (const char* file : row.without) fs::remove(folder / file);
      for (const auto& [file, content] : row.with) test::put(folder / file, content);
      way.put(folder / row.file);
      SCOPED_TRACE(row.file);
      expect_error(ErrorKind::kBadFile, {(folder / row.file).string() + ": expected", way.found},
                   [&] { open(folder); });
    }
  }
}

TEST(UnreadableFiles, OfACacheAreNotPassedOver) {
  const test::TempFolder cache;
  const fs::path model = cache / "models--org--name";
  fs::create_directories(model / "refs");
  fs::create_directories(model / "snapshots" / "0123");
  fs::create_symlink("../../blobs/45", model / "snapshots" / "0123" / "config.json");
  const auto look = [&] { (void)find_in_hub_cache("org/name", cache.path()); };
  expect_error(ErrorKind::kBadFile, {"config.json: expected", "link to ../../blobs/45, which is not there"}, look);
  fs::create_symlink("main", model / "refs" / "main");
  expect_error(ErrorKind::kBadFile, {"refs/main: expected", "leads in a circle"}, look);
}

TEST(UnreadableFiles, AModelThatIsALinkToNothing) {
  const test::TempFolder temporary;
  fs::create_symlink("gone", temporary / "model");
  expect_error(ErrorKind::kBadFile, {"model: expected a file or a folder", "link to gone"},
               [&] { (void)find_model(temporary / "model"); });
}

}  // namespace
}  // namespace attnflow::unreadable_files_test
