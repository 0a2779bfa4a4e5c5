#include "attnflow/files/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "attnflow/base/error.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/command_files.h"
#include "attnflow/files/input_file.h"
#include "attnflow/files/messages.h"

namespace attnflow {

namespace fs = std::filesystem;

Folder Folder::built_in(std::string name, std::vector<MemoryFile> files) {
  Folder folder;
  folder.path_ = std::move(name);
  folder.built_in_ = true;
  folder.files_ = std::move(files);
  return folder;
}

std::string Folder::name() const {
  if (!name_.empty()) return name_;
  if (built_in_) return path_.string();
  std::error_code error;
  fs::path path = fs::absolute(path_, error).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  // A folder called "model" gets its name from its parent.
  if (path.filename() == "model" && path.parent_path().has_filename()) path = path.parent_path();
  const std::string name = path.filename().string();
  return name.empty() ? path_.string() : name;
}

std::string Folder::label() const { return built_in_ ? path_.string() + " (built in)" : path_.string(); }

std::string Folder::label(std::string_view file) const {
  const std::string path = (path_ / file).string();
  return built_in_ ? path + " (built in)" : path;
}

bool Folder::exists() const {
  std::error_code ignored;
  return built_in_ || fs::is_directory(path_, ignored);
}

bool Folder::has(std::string_view file) const {
  return built_in_ ? find(file) != nullptr : internal::is_listed(path_ / file);
}

std::string Folder::read(std::string_view file, std::size_t max_bytes) const {
  if (!built_in_) {
    if (auto* const files = internal::command_files()) files->add_input_folder(path_);
    return read_file(path_ / file, max_bytes);
  }
  const std::span<const std::byte> bytes = require(file).bytes;
  if (bytes.size() > max_bytes) {
    internal::fail_file(label(file), fmt::format("expected a file of at most {} bytes, found a larger one", max_bytes));
  }
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

SafetensorsFile Folder::open_safetensors(std::string_view file) const {
  SafetensorsFile opened =
      built_in_ ? SafetensorsFile(require(file).bytes, label(file)) : SafetensorsFile(path_ / file);
  opened.require_all_read();  // all weights are needed
  return opened;
}

PytorchFile Folder::open_pytorch(std::string_view file) const {
  return built_in_ ? PytorchFile(require(file).bytes, label(file)) : PytorchFile(path_ / file);
}

const MemoryFile* Folder::find(std::string_view file) const {
  const auto found = std::find_if(files_.begin(), files_.end(), [&](const MemoryFile& f) { return f.name == file; });
  return found == files_.end() ? nullptr : &*found;
}

const MemoryFile& Folder::require(std::string_view file) const {
  const MemoryFile* const found = find(file);
  if (found != nullptr) return *found;
  std::vector<std::string_view> names;
  for (const MemoryFile& one : files_) names.push_back(one.name);
  internal::fail_file(label(file), fmt::format("expected a file of this name, found {}", internal::quote_names(names)));
}

}  // namespace attnflow
