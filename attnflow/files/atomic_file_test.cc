#include "attnflow/files/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "attnflow/files/files_for_test.h"

namespace attnflow {
namespace {

using test::expect_error;
using test::get;
using test::put;
using test::TempFolder;

using Names = std::vector<std::string>;

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 0777;
}

// Sets the umask and puts it back.
class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;
  ~Umask() { ::umask(before_); }

 private:
  mode_t before_;
};

TEST(AtomicFile, CommitPutsTheWholeContentUnderTheName) {
  const TempFolder folder;
  AtomicFile file(folder / "a.txt");
  file.write("one ");
  file.write(std::as_bytes(std::span(std::string_view("two"))));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.txt"));
  file.commit();
  EXPECT_EQ(get(folder / "a.txt"), "one two");
  EXPECT_EQ(folder.names(), Names{"a.txt"});
}

TEST(AtomicFile, WithoutCommitTheTargetStaysAsItWas) {
  const TempFolder folder;
  put(folder / "old", "before");
  {
    AtomicFile old(folder / "old");
    old.write("half of it");
    AtomicFile fresh(folder / "fresh");
    fresh.write("half of it");
    EXPECT_EQ(folder.names().size(), 3U);
  }
  EXPECT_EQ(folder.names(), Names{"old"});
  EXPECT_EQ(get(folder / "old"), "before");
}

TEST(AtomicFile, ReplacesAndKeepsTheLinkAndThePermissions) {
  const TempFolder folder;
  put(folder / "real", "before");
  ASSERT_EQ(::chmod((folder / "real").c_str(), 0640), 0);
  std::filesystem::create_symlink("real", folder / "link");
  write_file(folder / "link", "after");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(get(folder / "real"), "after");
  EXPECT_EQ(mode_of(folder / "real"), 0640U);
}

TEST(AtomicFile, NewFilesGetThePermissionsOfTheUmask) {
  const TempFolder folder;
  {
    const Umask mask(022);
    write_file(folder / "a", "");
  }
  {
    const Umask mask(077);
    write_file(folder / "b", "");
  }
  EXPECT_EQ(mode_of(folder / "a"), 0644U);
  EXPECT_EQ(mode_of(folder / "b"), 0600U);
}

TEST(AtomicFile, ALibraryMayWriteByName) {
  const TempFolder folder;
  AtomicFile file(folder / "a.txt");
  const std::filesystem::path other = folder / "other";
  put(other, "by name");
  std::filesystem::rename(other, file.temporary_path());
  file.commit();
  EXPECT_EQ(get(folder / "a.txt"), "by name");
  EXPECT_EQ(folder.names(), Names{"a.txt"});
}

TEST(AtomicFile, RelativePaths) {
  const TempFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  write_file("plain.txt", "x");
  std::filesystem::create_directory("sub");
  write_file("sub/../sub/deep.txt", "y");
  std::filesystem::current_path(before);
  EXPECT_EQ(get(folder / "plain.txt"), "x");
  EXPECT_EQ(get(folder / "sub/deep.txt"), "y");
}

TEST(AtomicFile, ManyAtOnceInOneFolder) {
  const TempFolder folder;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&folder] {
      for (int i = 0; i < 20; ++i) write_file(folder / "same", "same content");
    });
  }
  threads.clear();
  EXPECT_EQ(get(folder / "same"), "same content");
  EXPECT_EQ(folder.names(), Names{"same"});
}

TEST(AtomicFile, PathsThatCannotBeWritten) {
  const TempFolder folder;
  put(folder / "file", "x");
  expect_error(ErrorKind::kOther, {folder.path().string(), "it is a folder"}, [&] { AtomicFile file(folder.path()); });
  expect_error(ErrorKind::kOther, {"missing/a.npz", "there is no folder", "create it"},
               [&] { AtomicFile file(folder / "missing/a.npz"); });
  expect_error(ErrorKind::kOther, {"expected the name of a file"}, [&] { AtomicFile file(folder / "new/"); });
  expect_error(ErrorKind::kOther, {"cannot write", "file/a.npz"}, [&] { AtomicFile file(folder / "file/a.npz"); });
  expect_error(ErrorKind::kOther, {"empty name"}, [&] { AtomicFile file(""); });
  expect_error(ErrorKind::kOther, {"/proc/attnflow.npz", "cannot write"},
               [&] { AtomicFile file("/proc/attnflow.npz"); });
  EXPECT_EQ(folder.names(), Names{"file"});
}

TEST(AtomicFile, ProtectedFilesAndFolders) {
  const TempFolder folder;
  put(folder / "file", "x");
  ASSERT_EQ(::chmod((folder / "file").c_str(), 0444), 0);
  std::filesystem::create_directory(folder / "locked");
  ASSERT_EQ(::chmod((folder / "locked").c_str(), 0555), 0);
  // Root may write everywhere, so a test that runs as root becomes somebody else for a moment.
  constexpr uid_t kNobody = 65534;
  const bool root = ::geteuid() == 0;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  ASSERT_EQ(root ? ::seteuid(kNobody) : 0, 0);
  expect_error(ErrorKind::kOther, {"cannot write", "Permission denied"}, [&] { AtomicFile file(folder / "file"); });
  expect_error(ErrorKind::kOther, {"no file can be created", "Permission denied"},
               [&] { AtomicFile file(folder / "locked/a"); });
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
  EXPECT_EQ(get(folder / "file"), "x");
  EXPECT_EQ(folder.names(), (Names{"file", "locked"}));
}

TEST(AtomicFile, DevicesAreWrittenDirectly) {
  struct stat before = {};
  ASSERT_EQ(::stat("/dev/null", &before), 0);
  write_file("/dev/null", "gone");
  struct stat after = {};
  ASSERT_EQ(::stat("/dev/null", &after), 0);
  EXPECT_TRUE(S_ISCHR(after.st_mode));
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST(AtomicFile, ADiskThatIsFullIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  expect_error(ErrorKind::kOther, {"/dev/full", "No space left"}, [] { write_file("/dev/full", "content"); });
}

TEST(AtomicFile, PipesAreWrittenDirectly) {
  const TempFolder folder;
  const std::filesystem::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string received;
  std::jthread reader([&] { received = read_file(pipe); });
  write_file(pipe, "through the pipe");
  reader.join();
  EXPECT_EQ(received, "through the pipe");
  EXPECT_EQ(folder.names(), Names{"pipe"});
}

TEST(ReadFile, WholeContent) {
  const TempFolder folder;
  const std::string content("a\0b\r\n\xff", 6);
  EXPECT_EQ(read_file(put(folder / "a", content)), content);
  EXPECT_EQ(read_file(put(folder / "empty", "")), "");
  const std::string large(300'000, 'x');
  EXPECT_EQ(read_file(put(folder / "large", large)), large);
  EXPECT_EQ(read_file(folder / "large", large.size()), large);
}

TEST(ReadFile, BadFiles) {
  const TempFolder folder;
  put(folder / "a", "12345");
  expect_error(ErrorKind::kBadFile, {"nothing", "cannot be opened", "No such file"},
               [&] { read_file(folder / "nothing"); });
  expect_error(ErrorKind::kBadFile, {"expected a file, found a folder"}, [&] { read_file(folder.path()); });
  expect_error(ErrorKind::kBadFile, {"at most 4 bytes"}, [&] { read_file(folder / "a", 4); });
  expect_error(ErrorKind::kBadFile, {"at most 1000 bytes"}, [&] { read_file("/dev/zero", 1000); });
}

}  // namespace
}  // namespace attnflow
