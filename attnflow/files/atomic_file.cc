#include "attnflow/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <utility>
#include <vector>

#include "attnflow/base/fail.h"
#include "attnflow/files/command_files.h"
#include "attnflow/files/input_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/files/output_target.h"
#include "attnflow/files/temporary_entry.h"

namespace attnflow {
namespace {

using internal::system_reason;

[[noreturn]] void fail_to_write(const std::filesystem::path& path, const std::string& reason) {
  fail_with(ErrorKind::kOther, "{}: cannot write this file: {}", path.string(), reason);
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

AtomicFile::AtomicFile(const std::filesystem::path& path) {
  if (path.empty()) throw Error(ErrorKind::kOther, "cannot write a file with an empty name; give it a name");
  target_ = internal::output_target(path);
  internal::check_target(path, target_);
  int descriptor = -1;
  if (internal::is_written_directly(target_)) {
    temporary_ = target_;
    // Standard output is duplicated, not reopened: later output follows this file's, and sockets work.
    descriptor = internal::is_standard_output(path)
                     ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                     : ::open(target_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) fail_to_write(target_, system_reason(errno));
  } else {
    if (auto* const files = internal::command_files()) files->check_replaced(target_);
    struct stat status = {};
    const bool exists = ::stat(target_.c_str(), &status) == 0;
    // Renaming over a write-protected file would succeed where writing to it would not.
    if (exists && ::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0)
      fail_to_write(target_, system_reason(errno));
    const std::filesystem::path folder = folder_of(target_);
    internal::remove_leftovers(folder);
    internal::TemporaryEntry entry = internal::make_temporary_file(folder);
    if (entry.descriptor < 0) {
      const int reason = errno;
      if (reason == ENOENT || reason == ENOTDIR)
        fail_to_write(path, fmt::format("there is no folder {}; create it first", folder.string()));
      fail_to_write(path, fmt::format("no file can be created in {}: {}", folder.string(), system_reason(reason)));
    }
    temporary_ = std::move(entry.path);
    descriptor = entry.descriptor;
    // A replaced file keeps its permissions; on failure, the default permissions remain.
    if (exists) (void)::fchmod(descriptor, status.st_mode & 0777);
  }
  file_ = ::fdopen(descriptor, "wb");
  if (file_ == nullptr) {
    const int reason = errno;
    ::close(descriptor);
    if (temporary_ != target_) ::unlink(temporary_.c_str());
    fail_to_write(path, system_reason(reason));
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
  if (temporary_ == target_) {
    if (std::fclose(std::exchange(file_, nullptr)) != 0) fail_to_write(target_, system_reason(errno));
    committed_ = true;
    return;
  }
  if (std::fflush(file_) != 0) fail_to_write(target_, system_reason(errno));
  // A library may have put another file under the temporary name, so it is reopened to be flushed to disk.
  const int descriptor = ::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_to_write(target_, system_reason(errno));
  const bool flushed = ::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS;
  const int reason = errno;
  ::close(descriptor);
  if (!flushed) fail_to_write(target_, system_reason(reason));
  // The file stays open until it has its final name: its lock shows that this run is alive.
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_to_write(target_, system_reason(errno));
  committed_ = true;
  std::fclose(std::exchange(file_, nullptr));  // everything is written
  sync_folder(folder_of(target_));
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

std::string read_file(const std::filesystem::path& path, std::size_t max_bytes) {
  const internal::InputFile file(path, "a file");
  const auto too_large = [&] {
    internal::fail_file(path.string(),
                        fmt::format("expected a file of at most {} bytes, found a larger one", max_bytes));
  };
  if (file.size() > max_bytes) too_large();
  std::string content;
  content.reserve(file.size());
  // The size is only a hint: the file may grow while it is read.
  std::vector<char> chunk(std::size_t{1} << 16);
  while (const std::size_t read = file.read(std::as_writable_bytes(std::span(chunk)))) {
    if (read > max_bytes - content.size()) too_large();
    content.append(chunk.data(), read);
  }
  return content;
}

}  // namespace attnflow
