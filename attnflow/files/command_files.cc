#include "attnflow/files/command_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <optional>
#include <system_error>

#include "attnflow/base/error.h"
#include "attnflow/files/output_target.h"

namespace attnflow::internal {
namespace {

namespace fs = std::filesystem;

std::atomic<CommandFiles*> current_files = nullptr;

// Nothing for what is no regular file, and for a name in a folder that is not there.
std::optional<FileId> identify(const fs::path& target) {
  struct stat status = {};
  if (::stat(target.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) return std::nullopt;
    return FileId{status.st_dev, status.st_ino, ""};
  }
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (::stat(folder.c_str(), &status) != 0) return std::nullopt;
  return FileId{status.st_dev, status.st_ino, target.filename().string()};
}

[[noreturn]] void refuse_output_over_input(const fs::path& output, const fs::path& input) {
  throw Error(ErrorKind::kUsage,
              fmt::format("{}: expected an output that is none of the command's inputs, found the input {}; give the "
                          "output another name (--force, where a command has it, replaces the input)",
                          output.string(), input.string()));
}

bool is_below(const fs::path& folder, const fs::path& path) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

}  // namespace

CommandFiles::CommandFiles() {
  [[maybe_unused]] CommandFiles* const before = current_files.exchange(this);
  assert(before == nullptr && "one list at a time");
}

CommandFiles::~CommandFiles() { current_files = nullptr; }

void CommandFiles::allow_replacing_inputs() {
  const std::lock_guard lock(mutex_);
  may_replace_inputs_ = true;
}

void CommandFiles::add_output(const fs::path& path) {
  const fs::path target = output_target(path);
  check_target(path, target);
  const std::optional<FileId> id = identify(target);
  if (!id) return;
  const std::lock_guard lock(mutex_);
  const auto [other, added] = outputs_.emplace(*id, path);
  if (!added) {
    const bool same_name = other->second == path;
    throw Error(ErrorKind::kUsage,
                same_name
                    ? fmt::format("expected different files as outputs (-o), found '{}' twice", path.string())
                    : fmt::format("expected different files as outputs (-o), found '{}' and '{}', which are the same",
                                  other->second.string(), path.string()));
  }
  const auto input = inputs_.find(*id);
  if (input != inputs_.end() && !may_replace_inputs_) refuse_output_over_input(path, input->second);
}

void CommandFiles::add_work_folder(const fs::path& folder) {
  std::error_code ignored;
  const std::lock_guard lock(mutex_);
  work_folders_.push_back(fs::weakly_canonical(folder, ignored));
}

void CommandFiles::add_input(const fs::path& path, const struct stat& status) {
  const std::lock_guard lock(mutex_);
  if (!work_folders_.empty()) {
    std::error_code ignored;
    const fs::path place = fs::weakly_canonical(path, ignored);
    const auto holds = [&](const fs::path& folder) { return is_below(folder, place); };
    if (std::any_of(work_folders_.begin(), work_folders_.end(), holds)) return;
  }
  const FileId id{status.st_dev, status.st_ino, ""};
  const auto output = outputs_.find(id);
  if (output != outputs_.end() && !may_replace_inputs_) refuse_output_over_input(output->second, path);
  inputs_.emplace(id, path);
}

void CommandFiles::check_replaced(const fs::path& path) {
  const std::optional<FileId> id = identify(path);
  if (!id) return;
  const std::lock_guard lock(mutex_);
  const auto input = inputs_.find(*id);
  if (input != inputs_.end() && !may_replace_inputs_) refuse_output_over_input(path, input->second);
}

CommandFiles* command_files() { return current_files; }

void note_input(const fs::path& path, const struct stat& status) {
  if (CommandFiles* const files = command_files()) files->add_input(path, status);
}

void note_replaced(const fs::path& path) {
  if (CommandFiles* const files = command_files()) files->check_replaced(path);
}

}  // namespace attnflow::internal
