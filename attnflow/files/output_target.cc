#include "attnflow/files/output_target.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <string>
#include <system_error>

#include "attnflow/base/fail.h"
#include "attnflow/files/command_files.h"
#include "attnflow/files/extension.h"

namespace attnflow::internal {
namespace {

bool is_own_stream(const std::filesystem::path& path) {
  const std::string name = path.lexically_normal().string();
  if (name == "/dev/stdout" || name == "/dev/stderr" || name.starts_with("/dev/fd/")) return true;
  return name.starts_with("/proc/") && path.parent_path().filename() == "fd";  // /proc/self/fd/1, also for threads
}

}  // namespace

std::string_view file_kind(mode_t mode) {
  if (S_ISREG(mode)) return "a regular file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe (FIFO)";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

bool is_standard_output(const std::filesystem::path& path) {
  const std::string name = path.string();
  return command_files() != nullptr && (name == "-" || (name.starts_with("-.") && !path.has_parent_path()));
}

std::string output_ending(const std::filesystem::path& path) { return path == "-" ? ".json" : lower_extension(path); }

std::filesystem::path output_target(const std::filesystem::path& path) {
  if (is_standard_output(path)) return "/dev/stdout";
  constexpr int kMaxLinks = 40;  // the system's own limit
  std::filesystem::path target = path;
  for (int i = 0; i < kMaxLinks && !is_own_stream(target); ++i) {
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) break;  // not a link
    target = target.parent_path() / next;
    if (i + 1 == kMaxLinks && !is_own_stream(target) && std::filesystem::is_symlink(target, error))
      fail_with(ErrorKind::kOther, "{}: cannot write this file: the link is circular", path.string());
  }
  return target;
}

bool is_written_directly(const std::filesystem::path& target) {
  struct stat status = {};
  return is_own_stream(target) || (::stat(target.c_str(), &status) == 0 && S_ISCHR(status.st_mode));
}

void check_target(const std::filesystem::path& path, const std::filesystem::path& target) {
  const auto fail = [&](const std::string& reason, ErrorKind kind = ErrorKind::kUsage) {
    fail_with(kind, "{}: cannot write this file: {}", path.string(), reason);
  };
  struct stat status = {};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail("it is a folder; give the name of a file inside it");
  if (!target.has_filename()) fail("expected the name of a file, found the name of a folder");
  if (exists && !S_ISREG(status.st_mode) && !is_written_directly(target)) {
    fail(fmt::format("it is {}; give the name of a regular file, or of a new one", file_kind(status.st_mode)),
         ErrorKind::kOther);
  }
}

}  // namespace attnflow::internal
