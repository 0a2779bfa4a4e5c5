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

// Without the check, most of these wait for ever or take all memory: the test would not end.
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

}  // namespace
}  // namespace attnflow::input_file_test
