#include "attnflow/files/temporary_entry.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): <csignal> has no kill()
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace attnflow::internal {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryBeginning = ".attnflow-";
constexpr std::string_view kTemporaryEnd = ".tmp";

fs::path next_name(const fs::path& folder) {
  static std::atomic<unsigned> counter{0};
  return folder / fmt::format("{}{}-{}{}", kTemporaryBeginning, ::getpid(), counter.fetch_add(1), kTemporaryEnd);
}

std::optional<pid_t> process_of(std::string_view name) {
  if (!name.starts_with(kTemporaryBeginning) || !name.ends_with(kTemporaryEnd)) return std::nullopt;
  name.remove_prefix(kTemporaryBeginning.size());
  name.remove_suffix(std::min(name.size(), kTemporaryEnd.size()));
  pid_t process = 0;
  const char* const end = name.data() + name.size();
  const auto [dash, error] = std::from_chars(name.data(), end, process);
  if (error != std::errc{} || process <= 0 || dash == end || *dash != '-') return std::nullopt;
  unsigned number = 0;
  const auto [rest, bad] = std::from_chars(dash + 1, end, number);
  if (bad != std::errc{} || rest != end) return std::nullopt;
  return process;
}

bool is_gone(pid_t process) { return ::kill(process, 0) != 0 && errno == ESRCH; }

// Whether all processes that can write to this file system are on this machine.
bool is_local(const fs::path& folder) {
  constexpr std::array<long, 9> kLocal{EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,
                                       TMPFS_MAGIC,      OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                                       RAMFS_MAGIC,      0x2FC12FC1 /* ZFS */,  0x3434 /* NILFS */};
  struct statfs status = {};
  if (::statfs(folder.c_str(), &status) != 0) return false;
  return std::find(kLocal.begin(), kLocal.end(), static_cast<long>(status.f_type)) != kLocal.end();
}

// Waits while a cleanup by another run examines the new entry. Returns false if that run has removed it. Without lock
// support, nothing is removed either.
bool lock_new(int descriptor) {
  while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
  }
  struct stat status = {};
  return ::fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

template <typename Make>
TemporaryEntry make_entry(const fs::path& folder, const Make& make) {
  while (true) {
    TemporaryEntry entry{next_name(folder), -1};
    entry.descriptor = make(entry.path);
    if (entry.descriptor < 0 && errno == EEXIST) continue;
    if (entry.descriptor < 0 || lock_new(entry.descriptor)) return entry;
    ::close(entry.descriptor);
  }
}

void remove_if_unlocked(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (descriptor < 0) return;
  struct stat status = {};
  const bool ours = ::fstat(descriptor, &status) == 0 && status.st_uid == ::geteuid() &&
                    (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
  if (ours && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  ::close(descriptor);
}

}  // namespace

TemporaryEntry make_temporary_file(const fs::path& folder) {
  return make_entry(
      folder, [](const fs::path& path) { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
}

TemporaryEntry make_temporary_folder(const fs::path& folder) {
  return make_entry(folder, [](const fs::path& path) {
    if (::mkdir(path.c_str(), 0777) != 0) return -1;
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0 && errno == ENOENT) errno = EEXIST;  // removed by a cleanup: create another
    return descriptor;
  });
}

void remove_leftovers(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  std::optional<bool> local;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::optional<pid_t> process = process_of(entry->path().filename().string());
    if (!process || !is_gone(*process)) continue;
    if (!local) local = is_local(folder);
    if (!*local) return;
    remove_if_unlocked(entry->path());
  }
}

}  // namespace attnflow::internal
