#include "attnflow/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/files/messages.h"

namespace attnflow {
namespace {

using internal::system_reason;

[[noreturn]] void fail_to_write(const std::filesystem::path& path, const std::string& reason) {
  throw Error(ErrorKind::kOther, fmt::format("{}: cannot write this file: {}", path.string(), reason));
}

// Devices, pipes and the process's own streams: renaming a file over them would replace the name and not reach what
// stands behind it. /dev/stdout counts even where it leads to a regular file.
bool is_written_directly(const std::filesystem::path& target, bool exists, const struct stat& status) {
  if (exists && !S_ISREG(status.st_mode)) return true;
  const std::string name = target.lexically_normal().string();
  return name.starts_with("/dev/") || name.starts_with("/proc/");
}

// Makes the rename itself durable. Some file systems cannot do this for folders; the file is complete either way.
void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  (void)::fsync(descriptor);
  ::close(descriptor);
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  return folder.empty() ? std::filesystem::path(".") : folder;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& target) : target_(target) {
  if (target_.empty()) throw Error(ErrorKind::kOther, "cannot write a file with an empty name; give it a name");
  struct stat status = {};
  bool exists = ::stat(target_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail_to_write(target_, "it is a folder; give the name of a file inside it");
  if (!target_.has_filename()) fail_to_write(target_, "expected the name of a file, found that of a folder");

  int descriptor = -1;
  if (is_written_directly(target_, exists, status)) {
    temporary_ = target_;
    descriptor = ::open(target_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (descriptor < 0) fail_to_write(target_, system_reason(errno));
  } else {
    // A link stays a link: what it points to is replaced.
    std::error_code ignored;
    if (exists && std::filesystem::is_symlink(target_, ignored)) target_ = std::filesystem::canonical(target_);
    // Renaming over a write-protected file would succeed where writing to it does not.
    if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0)
      fail_to_write(target_, system_reason(errno));
    const std::filesystem::path folder = folder_of(target_);
    static std::atomic<unsigned> counter{0};
    do {
      temporary_ = folder / fmt::format(".attnflow-{}-{}.tmp", ::getpid(), counter.fetch_add(1));
      descriptor = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EEXIST);
    if (descriptor < 0) {
      const int reason = errno;
      if (reason == ENOENT || reason == ENOTDIR)
        fail_to_write(target, fmt::format("there is no folder {}; create it first", folder.string()));
      fail_to_write(target, fmt::format("no file can be created in {}: {}", folder.string(), system_reason(reason)));
    }
    // A file that is replaced keeps who may read it; a failure only leaves the usual permissions.
    if (exists) (void)::fchmod(descriptor, status.st_mode & 0777);
  }
  file_ = ::fdopen(descriptor, "wb");
  if (file_ == nullptr) {
    const int reason = errno;
    ::close(descriptor);
    if (temporary_ != target_) ::unlink(temporary_.c_str());
    fail_to_write(target, system_reason(reason));
  }
}

AtomicFile::~AtomicFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!committed_ && temporary_ != target_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  assert(file_ != nullptr && "write after commit");
  if (bytes.empty()) return;
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail_to_write(target_, system_reason(errno));
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  assert(file_ != nullptr && "commit after commit");
  errno = 0;
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (!closed) fail_to_write(target_, system_reason(errno));
  if (temporary_ == target_) {
    committed_ = true;
    return;
  }
  // A library may have put another file under the temporary name, so it is opened again to be flushed to the disk.
  const int descriptor = ::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_to_write(target_, system_reason(errno));
  const bool flushed = ::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS;
  const int reason = errno;
  ::close(descriptor);
  if (!flushed) fail_to_write(target_, system_reason(reason));
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_to_write(target_, system_reason(errno));
  committed_ = true;
  sync_folder(folder_of(target_));
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::kBadFile, fmt::format("{}: {}", path.string(), what));
  };
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rbe"));
  if (!file) fail(fmt::format("cannot be opened for reading: {}; check the name", system_reason(errno)));
  struct stat status = {};
  const bool known = ::fstat(::fileno(file.get()), &status) == 0;
  if (known && S_ISDIR(status.st_mode)) fail("expected a file, found a folder");
  const auto too_large = [&] {
    fail(fmt::format("expected a file of at most {} bytes, found a larger one", max_bytes));
  };
  std::string content;
  if (known && S_ISREG(status.st_mode) && status.st_size > 0) {
    if (static_cast<std::uintmax_t>(status.st_size) > max_bytes) too_large();
    content.reserve(static_cast<std::size_t>(status.st_size));
  }
  // The size is only a hint: pipes have none, and a file may grow while it is read.
  std::array<char, 1 << 16> chunk;
  while (const std::size_t read = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    if (read > max_bytes - content.size()) too_large();
    content.append(chunk.data(), read);
  }
  if (std::ferror(file.get()) != 0) fail("cannot be read: " + system_reason(errno));
  return content;
}

}  // namespace attnflow
