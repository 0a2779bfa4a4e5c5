#include "attnflow/files/folder.h"

#include <gtest/gtest.h>

#include "attnflow/files/files_for_test.h"

namespace attnflow::folder_test {
namespace {

using test::bytes_of;
using test::expect_error;
using test::put;
using test::refusal;
using test::TempFolder;

MemoryFile file_of(std::string_view name, std::string_view content) {
  return {name, std::as_bytes(std::span(content))};
}

TEST(Folder, OnDisk) {
  const TempFolder temporary;
  put(temporary / "a.txt", "abc");
  const Folder folder = temporary.path();
  EXPECT_FALSE(folder.is_built_in());
  EXPECT_TRUE(folder.exists());
  EXPECT_EQ(folder.path(), temporary.path());
  EXPECT_EQ(folder.name(), temporary.path().filename().string());
  EXPECT_EQ(Folder(temporary / "minilm" / "model").name(), "minilm");
  EXPECT_EQ(folder.label(), temporary.path().string());
  EXPECT_EQ(folder.label("a.txt"), (temporary / "a.txt").string());
  EXPECT_TRUE(folder.has("a.txt"));
  EXPECT_FALSE(folder.has("b.txt"));
  EXPECT_EQ(folder.read("a.txt"), "abc");
  expect_error(ErrorKind::kBadFile, {"a.txt", "at most 2 bytes"}, [&] { folder.read("a.txt", 2); });
  expect_error(ErrorKind::kBadFile, {"b.txt"}, [&] { folder.read("b.txt"); });
}

TEST(Folder, OnDiskIsNamedByItsLastPart) {
  const TempFolder temporary;
  EXPECT_EQ(Folder("models/minilm/").name(), "minilm");
  EXPECT_EQ(Folder("models/minilm/.").name(), "minilm");
  EXPECT_EQ(Folder(std::string("minilm")).name(), "minilm");
  EXPECT_EQ(Folder(".").name(), std::filesystem::current_path().filename().string());
  EXPECT_EQ(Folder("/").name(), "/");
  EXPECT_FALSE(Folder(temporary / "none").exists());
  put(temporary / "file", "");
  EXPECT_FALSE(Folder(temporary / "file").exists());
}

TEST(Folder, BuiltIn) {
  const std::string content("a\0c", 3);
  const Folder folder = Folder::built_in("small", {file_of("a.txt", content), file_of("empty", "")});
  EXPECT_TRUE(folder.is_built_in());
  EXPECT_TRUE(folder.exists());
  EXPECT_EQ(folder.name(), "small");
  EXPECT_EQ(folder.label(), "small (built in)");
  EXPECT_EQ(folder.label("a.txt"), "small/a.txt (built in)");
  EXPECT_TRUE(folder.has("a.txt"));
  EXPECT_FALSE(folder.has("a.tx"));
  EXPECT_EQ(folder.read("a.txt"), content);
  EXPECT_EQ(folder.read("a.txt", 3), content);
  EXPECT_EQ(folder.read("empty"), "");
  expect_error(ErrorKind::kBadFile, {"small/a.txt (built in)", "at most 2 bytes"}, [&] { folder.read("a.txt", 2); });
  expect_error(ErrorKind::kBadFile, {"small/none (built in)", "\"a.txt\", \"empty\""}, [&] { folder.read("none"); });
  expect_error(ErrorKind::kBadFile, {"small/none (built in)"}, [&] { folder.open_safetensors("none"); });
}

TEST(Folder, OpensTheSameTensorsFromDiskAndFromMemory) {
  const TempFolder temporary;
  write_safetensors(temporary / "w.safetensors", {{"x", Array::from(Tensor<float>({2}, {1, 2}).view())}});
  const std::string bytes = test::get(temporary / "w.safetensors");
  const Folder memory = Folder::built_in("small", {file_of("w.safetensors", bytes)});
  for (const Folder& folder : {Folder(temporary.path()), memory}) {
    const SafetensorsFile file = folder.open_safetensors("w.safetensors");
    EXPECT_EQ(file.path(), folder.label("w.safetensors"));
    EXPECT_EQ(file.read("x").to_float("x"), (Tensor<float>({2}, {1, 2})));
  }
  const SafetensorsFile file = memory.open_safetensors("w.safetensors");
  const std::byte* const data = file.entries().at("x").bytes.data();
  EXPECT_EQ(static_cast<const void*>(data), bytes.data() + bytes.size() - 2 * sizeof(float));
}

TEST(Folder, DamagedTensorsInMemoryAreRefusedAsOnDisk) {
  const TempFolder temporary;
  write_safetensors(temporary / "w.safetensors", {{"x", Array::from(Tensor<float>({2}, {1, 2}).view())}});
  const std::string whole = test::get(temporary / "w.safetensors");
  std::vector<std::string> damaged;
  for (std::size_t size = 0; size < whole.size(); ++size) damaged.push_back(whole.substr(0, size));
  damaged.push_back(whole + "x");
  damaged.push_back(bytes_of(std::uint64_t{1} << 40) + whole.substr(8));
  damaged.push_back(whole);
  damaged.back()[9] = '{';
  for (const std::string& bytes : damaged) {
    const std::string path = put(temporary / "damaged.safetensors", bytes).string();
    const auto message_of = [](const Folder& folder) {
      return refusal(ErrorKind::kBadFile, [&] { folder.open_safetensors("damaged.safetensors"); });
    };
    const std::string name = "small/damaged.safetensors (built in)";
    std::string expected = message_of(temporary.path());
    ASSERT_TRUE(expected.starts_with(path)) << expected;
    expected.replace(0, path.size(), name);
    EXPECT_EQ(message_of(Folder::built_in("small", {file_of("damaged.safetensors", bytes)})), expected);
  }
}

}  // namespace
}  // namespace attnflow::folder_test
