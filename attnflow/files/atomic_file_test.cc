#include "attnflow/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "attnflow/files/files_for_test.h"
#include "attnflow/files/socket_for_test.h"

namespace attnflow::atomic_file_test {
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
  const mode_t before = ::umask(022);
  write_file(folder / "a", "");
  ::umask(077);
  write_file(folder / "b", "");
  ::umask(before);
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
  expect_error(ErrorKind::kUsage, {folder.path().string(), "it is a folder"}, [&] { AtomicFile file(folder.path()); });
  expect_error(ErrorKind::kOther, {"missing/a.npz", "there is no folder", "create it"},
               [&] { AtomicFile file(folder / "missing/a.npz"); });
  expect_error(ErrorKind::kUsage, {"expected the name of a file"}, [&] { AtomicFile file(folder / "new/"); });
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
  // Root can write everywhere, so a test that runs as root temporarily becomes another user.
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

TEST(AtomicFile, PipesAndSocketsAreRefusedAtOnce) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const test::Socket socket(folder / "socket");
  std::filesystem::create_symlink("pipe", folder / "link");
  for (const char* name : {"pipe", "link"}) {
    expect_error(ErrorKind::kOther, {name, "cannot write", "a pipe (FIFO)", "a regular file"},
                 [&] { write_file(folder / name, "x"); });
  }
  expect_error(ErrorKind::kOther, {"socket", "a socket"}, [&] { write_file(folder / "socket", "x"); });
  EXPECT_EQ(folder.names(), (Names{"link", "pipe", "socket"}));
}

TEST(AtomicFile, TheProcesssOwnStreamsAreWrittenToDirectly) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  write_file(fmt::format("/dev/fd/{}", ends[1]), "through the pipe");
  ::close(ends[1]);
  std::string received(64, ' ');
  received.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], received.data(), received.size()), 0)));
  ::close(ends[0]);
  EXPECT_EQ(received, "through the pipe");
}

TEST(AtomicFile, SharedMemoryIsAFolderLikeOthers) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
  const std::filesystem::path path = fmt::format("/dev/shm/attnflow-test-{}", ::getpid());
  write_file(path, "content");
  EXPECT_EQ(get(path), "content");
  std::filesystem::remove(path);
}

TEST(AtomicFile, ALinkToAFileThatIsNotThereYetStaysALink) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "sub");
  std::filesystem::create_symlink("sub/new", folder / "link");
  write_file(folder / "link", "content");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(get(folder / "sub/new"), "content");
}

// ---- Leftovers of killed runs ----

pid_t gone_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  return child;
}

TEST(AtomicFile, RemovesWhatAKilledRunLeft) {
  const TempFolder folder;
  int ready = 0;
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile file(folder / "a.txt");
    file.write("half of it");
    if (::write(ends[1], "x", 1) == 1) ::pause();  // until it is killed
    ::_exit(1);
  }
  ASSERT_EQ(::read(ends[0], &ready, 1), 1);
  ASSERT_EQ(folder.names().size(), 1U);
  write_file(folder / "b.txt", "x");
  EXPECT_EQ(folder.names().size(), 2U) << "that of a living run was removed";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(folder.names().size(), 2U);
  write_file(folder / "b.txt", "x");
  EXPECT_EQ(folder.names(), Names{"b.txt"});
}

TEST(AtomicFile, RemovesFoldersThatAKilledRunLeft) {
  const TempFolder folder;
  const std::filesystem::path left = folder / fmt::format(".attnflow-{}-0.tmp", gone_process());
  std::filesystem::create_directory(left);
  put(left / "model.safetensors", "half of it");
  write_file(folder / "a.txt", "x");
  EXPECT_EQ(folder.names(), Names{"a.txt"});
}

TEST(AtomicFile, LeavesWhatOthersMayStillWrite) {
  const TempFolder folder;
  const pid_t gone = gone_process();
  const std::filesystem::path locked = put(folder / fmt::format(".attnflow-{}-1.tmp", gone), "theirs");
  const int descriptor = ::open(locked.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  put(folder / fmt::format(".attnflow-{}-2.tmp", ::getpid()), "ours");
  put(folder / fmt::format(".attnflow-{}.tmp", gone), "another name");
  put(folder / fmt::format(".attnflow-{}-x.tmp", gone), "another name");
  put(folder / ".attnflow-0-1.tmp", "no process");
  put(folder / fmt::format("attnflow-{}-1.tmp", gone), "another name");
  put(folder / "target", "of a link");
  std::filesystem::create_symlink("target", folder / fmt::format(".attnflow-{}-3.tmp", gone));
  const Names before = folder.names();
  write_file(folder / "target", "new");
  EXPECT_EQ(folder.names(), before);
  ::close(descriptor);
  write_file(folder / "target", "new");
  EXPECT_EQ(folder.names().size(), before.size() - 1);
  EXPECT_FALSE(std::filesystem::exists(locked));
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
  expect_error(ErrorKind::kBadFile,
               {"nothing: expected a file, found none that can be opened (No such file or directory); check the name"},
               [&] { read_file(folder / "nothing"); });
  expect_error(ErrorKind::kBadFile, {"expected a file", "found a folder"}, [&] { read_file(folder.path()); });
  expect_error(ErrorKind::kBadFile, {"at most 4 bytes"}, [&] { read_file(folder / "a", 4); });
  expect_error(ErrorKind::kBadFile, {"/dev/zero", "found a device", "only regular files"},
               [&] { read_file("/dev/zero", 1000); });
}

}  // namespace
}  // namespace attnflow::atomic_file_test
