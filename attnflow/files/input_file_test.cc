#include "attnflow/files/input_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "attnflow/files/array_file.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/files/folder.h"
#include "attnflow/files/gguf.h"
#include "attnflow/files/mapped_file.h"
#include "attnflow/files/safetensors.h"
#include "attnflow/files/socket_for_test.h"

namespace attnflow::input_file_test {
namespace {

using internal::InputFile;
using test::expect_error;
using test::put;
using test::TempFolder;

TEST(InputFile, OpensRegularFilesAlsoThroughLinks) {
  const TempFolder folder;
  put(folder / "a", "12345");
  std::filesystem::create_symlink("a", folder / "link");
  const InputFile file(folder / "link", "a file");
  EXPECT_EQ(file.size(), 5U);
  char first = 0;
  EXPECT_EQ(::read(file.descriptor(), &first, 1), 1);
  EXPECT_EQ(first, '1');
}

// Without the check, most of these would wait forever or take all memory, and the test would not end.
TEST(InputFile, EveryReaderRefusesWhatIsNoRegularFile) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const test::Socket socket(folder / "socket");
  std::filesystem::create_symlink("/dev/zero", folder / "zero");
  std::filesystem::create_directory(folder / "folder");
  const std::vector<std::function<void(const std::filesystem::path&)>> readers = {
      [](const auto& path) { (void)read_file(path); },
      [](const auto& path) { (void)read_npy(path); },
      [](const auto& path) { (void)read_npz(path, "attention"); },
      [](const auto& path) { (void)list_npz(path); },
      [](const auto& path) { (void)SafetensorsFile(path); },
      [](const auto& path) { (void)internal::MappedFile(path, "GGUF"); },
      [](const auto& path) { (void)Folder(path.parent_path()).read(path.filename().string()); },
  };
  const std::vector<std::pair<const char*, const char*>> kinds = {{"pipe", "found a pipe (FIFO)"},
                                                                  {"socket", "found a socket"},
                                                                  {"zero", "found a device"},
                                                                  {"folder", "found a folder"}};
  for (const auto& [name, found] : kinds) {
    for (const auto& read : readers) {
      expect_error(ErrorKind::kBadFile, {name, "expected", found}, [&, &name = name] { read(folder / name); });
    }
  }
  for (const auto& read : readers) {
    expect_error(ErrorKind::kBadFile,
                 {"missing: expected a", "found none that can be opened (No such file or directory)"},
                 [&] { read(folder / "missing"); });
  }
}

TEST(InputFile, WhatIsListedAndCannotBeReachedIsNotMissing) {
  const TempFolder folder;
  put(folder / "file", "");
  std::filesystem::create_directory(folder / "inner");
  std::filesystem::create_symlink("file", folder / "link");
  std::filesystem::create_symlink("gone", folder / "dangling");
  std::filesystem::create_symlink("dangling", folder / "chain");
  std::filesystem::create_symlink("second", folder / "first");
  std::filesystem::create_symlink("first", folder / "second");
  for (const char* name : {"file", "inner", "link"}) EXPECT_TRUE(Folder(folder.path()).has(name)) << name;
  for (const char* name : {"missing", "file/below", "missing/below"}) {
    EXPECT_FALSE(Folder(folder.path()).has(name)) << name;
  }
  EXPECT_FALSE(internal::is_listed(folder / std::string(5000, 'x')));
  for (const auto& [label, found] :
       {std::pair("dangling", "a link to gone, which is not there"),
        std::pair("chain", "a link to dangling, which is not there"),
        std::pair("first", "a link to second, which leads in a circle"),
        std::pair("first/below", "found none that can be opened (Too many levels of symbolic links)")}) {
    const char* const name = label;  // clang 14 cannot capture a structured binding
    expect_error(ErrorKind::kBadFile, {name, "expected", found}, [&] { (void)Folder(folder.path()).has(name); });
    expect_error(ErrorKind::kBadFile, {name, "expected", found}, [&] { (void)read_file(folder / name); });
  }
}

}  // namespace
}  // namespace attnflow::input_file_test
