#include "attnflow/files/command_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <optional>
#include <system_error>
#include <utility>

#include "attnflow/base/fail.h"
#include "attnflow/files/output_target.h"

namespace attnflow::internal {
namespace {

namespace fs = std::filesystem;

std::atomic<CommandFiles*> current_files = nullptr;

std::optional<FileId> identify_folder(const fs::path& folder) {
  struct stat status = {};
  if (::stat(folder.empty() ? "." : folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  return FileId{status.st_dev, status.st_ino, ""};
}

// Returns nothing for anything but a regular file, and for a name in a folder that does not exist.
std::optional<FileId> identify(const fs::path& target) {
  struct stat status = {};
  if (::stat(target.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) return std::nullopt;
    return FileId{status.st_dev, status.st_ino, ""};
  }
  std::optional<FileId> id = identify_folder(target.parent_path());
  if (id) id->name = target.filename().string();
  return id;
}

// A file that does not exist yet gets the path it will have: weakly_canonical() leaves a relative path unchanged if its
// first component does not exist.
fs::path place_of(const fs::path& path) {
  std::error_code ignored;
  return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
}

// Files that models are published with, and those that attnflow-train writes next to a model; not other files that a
// user keeps there, such as an output of an earlier run.
bool belongs_to_model(const std::string& name) {
  constexpr std::array kNames = {"examples.txt", "modules.json",  "prefixes.tsv",           "preprocessor_config.json",
                                 "merges.txt",   "training.json", "special_tokens_map.json"};
  constexpr std::array kBeginnings = {
      "README", "LICENSE", "NOTICE",        "adapter_",  "added_tokens", "chat_template", "config", "generation_config",
      "model.", "model-",  "pytorch_model", "tokenizer", "vocab"};
  const auto begins = [&](const char* beginning) { return name.starts_with(beginning); };
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kBeginnings.begin(), kBeginnings.end(), begins);
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

void CommandFiles::say_how_to_replace(std::string option) {
  const std::lock_guard lock(mutex_);
  how_to_replace_ = std::move(option);
}

void CommandFiles::refuse(const fs::path& output, const fs::path& input) const {
  const std::string how = how_to_replace_.empty() ? "" : fmt::format(" ({} overwrites the input)", how_to_replace_);
  fail_with(ErrorKind::kUsage,
            "{}: expected an output different from the inputs, found the input {}; give the output another name{}",
            output.string(), input.string(), how);
}

void CommandFiles::add_output(const fs::path& path) {
  if (path.empty()) throw Error(ErrorKind::kUsage, "expected a file name as output (-o), found an empty one");
  const fs::path target = output_target(path);
  check_target(path, target);
  if (is_standard_output(path)) {
    const std::lock_guard lock(mutex_);
    if (!standard_output_.empty()) {
      fail_with(ErrorKind::kUsage,
                "expected one output on standard output (-o), found '{}' and '{}'; give one of them the "
                "name of a file",
                standard_output_, path.string());
    }
    standard_output_ = path.string();
    return;
  }
  const std::optional<FileId> id = identify(target);
  if (!id) return;
  const std::lock_guard lock(mutex_);
  const auto [other, added] = outputs_.emplace(*id, path);
  if (!added) {
    const bool same_name = other->second == path;
    throw Error(
        ErrorKind::kUsage,
        same_name
            ? fmt::format("expected different files as outputs (-o), found '{}' twice", path.string())
            : fmt::format("expected different files as outputs (-o), found '{}' and '{}', which are the same file",
                          other->second.string(), path.string()));
  }
  const auto input = inputs_.find(*id);
  if (input != inputs_.end() && !may_replace_inputs_) refuse(path, input->second);
  if (!id->name.empty()) return;
  // A folder of the Hub's cache contains links: the file belongs to that folder as well as to the one that it lies in.
  for (const fs::path& named : {path, target}) {
    const std::optional<FileId> folder = identify_folder(named.parent_path());
    if (!folder || !belongs_to_model(named.filename().string())) continue;
    if (input_folders_.contains(*folder) && !may_replace_inputs_) refuse(path, target);
    replaced_.push_back({*folder, path});
  }
}

void CommandFiles::add_input_folder(const fs::path& folder) {
  const std::optional<FileId> id = identify_folder(folder);
  if (!id) return;
  const std::lock_guard lock(mutex_);
  input_folders_.emplace(*id, folder);
  if (may_replace_inputs_) return;
  for (const Replaced& one : replaced_) {
    if (one.folder == *id) refuse(one.path, folder / one.path.filename());
  }
}

void CommandFiles::add_work_folder(const fs::path& folder) {
  const std::lock_guard lock(mutex_);
  work_folders_.push_back(place_of(folder));
}

void CommandFiles::add_input(const fs::path& path, const struct stat& status) {
  const std::lock_guard lock(mutex_);
  if (!work_folders_.empty()) {
    const fs::path place = place_of(path);
    const auto holds = [&](const fs::path& folder) { return is_below(folder, place); };
    if (std::any_of(work_folders_.begin(), work_folders_.end(), holds)) return;
  }
  const FileId id{status.st_dev, status.st_ino, ""};
  const auto output = outputs_.find(id);
  if (output != outputs_.end() && !may_replace_inputs_) refuse(output->second, path);
  inputs_.emplace(id, path);
}

void CommandFiles::check_replaced(const fs::path& path) {
  const std::optional<FileId> id = identify(path);
  if (!id) return;
  const std::lock_guard lock(mutex_);
  const auto input = inputs_.find(*id);
  if (input != inputs_.end() && !may_replace_inputs_) refuse(path, input->second);
}

CommandFiles* command_files() { return current_files; }

}  // namespace attnflow::internal
