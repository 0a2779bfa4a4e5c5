#include "attnflow/files/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/files/command_files.h"
#include "attnflow/files/messages.h"
#include "attnflow/files/output_target.h"

namespace attnflow::internal {
namespace {

[[noreturn]] void fail_to_reach(const std::filesystem::path& path, std::string_view expected, int error_number) {
  std::error_code no_link;
  const std::filesystem::path target = std::filesystem::read_symlink(path, no_link);
  const char* const advice = error_number == EACCES ? "check its permissions" : "check the name";
  std::string found = fmt::format("found none that can be opened ({}); {}", system_reason(error_number), advice);
  if (!no_link && error_number == ENOENT) {
    found = fmt::format("found a link to {}, which is not there; if that is a cache of downloads, fetch the file again",
                        target.string());
  } else if (!no_link && error_number == ELOOP) {
    found = fmt::format("found a link to {}, which leads in a circle; restore the file", target.string());
  }
  fail_file(path.string(), fmt::format("expected {}, {}", expected, found));
}

}  // namespace

bool is_listed(const std::filesystem::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) return true;
  const int error_number = errno;
  const bool is_there = ::lstat(path.c_str(), &status) == 0;
  if (!is_there && (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG)) return false;
  fail_to_reach(path, "a file or a folder", error_number);
}

InputFile::InputFile(const std::filesystem::path& path, std::string_view expected) : name_(path.string()) {
  const auto fail = [&](const std::string& found) {
    fail_file(name_, fmt::format("expected {}, {}", expected, found));
  };
  const auto check_kind = [&](const struct stat& status) {
    if (S_ISDIR(status.st_mode)) fail("found a folder");
    if (!S_ISREG(status.st_mode))
      fail(fmt::format("found {}, and only regular files are read; copy it to one first", file_kind(status.st_mode)));
  };
  const auto cannot = [&] { fail_to_reach(path, expected, errno); };
  // Checked before opening, because opening a pipe or a device already has effects; and again afterwards, because the
  // file may have been replaced.
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) cannot();
  check_kind(status);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) cannot();
  try {
    if (::fstat(descriptor_, &status) != 0) cannot();
    check_kind(status);
    if (CommandFiles* const files = command_files()) files->add_input(path, status);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  size_ = static_cast<std::size_t>(status.st_size);
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t InputFile::read(std::span<std::byte> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::read(descriptor_, into.data() + done, into.size() - done);
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_file(name_, fmt::format("cannot be read: {}", system_reason(errno)));
    done += static_cast<std::size_t>(got);
  }
  return done;
}

int InputFile::release() { return std::exchange(descriptor_, -1); }

}  // namespace attnflow::internal
