// A folder of files to read, either on disk or built into the program.
//
// A model is a folder of a few files. Most are on disk; those shipped with the program are in its own memory, so that
// it needs no installed data. Code that reads a model takes a Folder and works with both.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/files/pytorch_file.h"
#include "attnflow/files/safetensors.h"

namespace attnflow {

// Its creator must keep name and bytes alive as long as any Folder, or anything read from one, is in use.
struct MemoryFile {
  std::string_view name;  // a plain name, without a path
  std::span<const std::byte> bytes;
};

// Copies refer to the same files. No file is opened until it is requested.
class Folder {
 public:
  // The folder on disk at `path`, which need not exist. Implicit, so that a path can stand for a Folder.
  Folder(std::filesystem::path path) : path_(std::move(path)) {}  // NOLINT(google-explicit-constructor)
  Folder(const std::string& path) : path_(path) {}                // NOLINT(google-explicit-constructor)
  Folder(const char* path) : path_(path) {}                       // NOLINT(google-explicit-constructor)

  static Folder built_in(std::string name, std::vector<MemoryFile> files);

  Folder called(std::string name) const {
    Folder folder = *this;
    folder.name_ = std::move(name);
    return folder;
  }

  // Returns the same folder with an adapter (changes to its weights) from another folder.
  Folder with_adapter(Folder adapter) const {
    Folder folder = *this;
    folder.adapter_ = std::make_shared<const Folder>(std::move(adapter));
    return folder;
  }
  const Folder* adapter() const { return adapter_.get(); }  // null: no adapter

  bool is_built_in() const { return built_in_; }
  // Returns the name given by called() or built_in(), or else the last part of the absolute path, or the part before it
  // if the last is "model": "minilm" for "models/minilm/" and "models/minilm/model".
  std::string name() const;
  // Names the folder, or a file in it, in messages: "models/minilm/config.json" or "agreement/config.json (built in)".
  std::string label() const;
  std::string label(std::string_view file) const;

  bool exists() const;
  // Throws Error(kBadFile) if the entry is listed but unreachable: a dangling link or a link cycle.
  bool has(std::string_view file) const;
  // Throws Error(kBadFile) if the file is missing, a folder, unreadable, or larger than `max_bytes`.
  std::string read(std::string_view file, std::size_t max_bytes = std::size_t{1} << 30) const;
  // Maps a .safetensors file or, when built in, uses its bytes in place. Throws Error(kBadFile), also if a tensor has a
  // type that attnflow does not read (SafetensorsFile::unread()).
  SafetensorsFile open_safetensors(std::string_view file) const;
  PytorchFile open_pytorch(std::string_view file) const;

  // The path as given if on disk, the name if built in.
  const std::filesystem::path& path() const { return path_; }

 private:
  Folder() = default;
  const MemoryFile* find(std::string_view file) const;
  const MemoryFile& require(std::string_view file) const;

  std::filesystem::path path_;
  std::string name_;  // empty: derived from the path
  bool built_in_ = false;
  std::vector<MemoryFile> files_;
  std::shared_ptr<const Folder> adapter_;
};

}  // namespace attnflow
