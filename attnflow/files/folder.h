// A folder of files to read: on disk, or built into the program.
//
// A model is a folder of a few files. Most lie on disk; those that come with the program lie in its own memory, so that
// it needs no installed data. Code that reads a model takes a Folder and does not care which it is.
#ifndef ATTNFLOW_FILES_FOLDER_H_
#define ATTNFLOW_FILES_FOLDER_H_

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

// A file whose bytes are in memory. Whoever makes one keeps both alive for as long as any Folder, or anything that was
// read from one, is in use; what is built into a program lives as long as the program.
struct MemoryFile {
  std::string_view name;  // plain, without a path
  std::span<const std::byte> bytes;
};

// A value: copies refer to the same files. Nothing is opened before a file is asked for.
class Folder {
 public:
  // The folder on disk at `path`, which need not exist. Implicit, so that a path may be given wherever a Folder is
  // taken.
  Folder(std::filesystem::path path) : path_(std::move(path)) {}  // NOLINT(google-explicit-constructor)
  Folder(const std::string& path) : path_(path) {}                // NOLINT(google-explicit-constructor)
  Folder(const char* path) : path_(path) {}                       // NOLINT(google-explicit-constructor)

  // The folder `name` of `files` in memory.
  static Folder built_in(std::string name, std::vector<MemoryFile> files);

  // The same folder under another name().
  Folder called(std::string name) const {
    Folder folder = *this;
    folder.name_ = std::move(name);
    return folder;
  }

  // The same folder with an adapter that lies in another: changes to the weights in this one.
  Folder with_adapter(Folder adapter) const {
    Folder folder = *this;
    folder.adapter_ = std::make_shared<const Folder>(std::move(adapter));
    return folder;
  }
  const Folder* adapter() const { return adapter_.get(); }  // null: none was given

  bool is_built_in() const { return built_in_; }
  // "minilm" of "models/minilm/" and of "models/minilm/model", "." and the like made absolute first; the name that was
  // given to it or, built in, to its files.
  std::string name() const;
  // What messages call the folder, and a file in it: "models/minilm/config.json", or "agreement/config.json (built
  // in)".
  std::string label() const;
  std::string label(std::string_view file) const;

  // Is the folder there? One built in always is.
  bool exists() const;
  // Is there something of that name in it? Throws Error(kBadFile) where it is listed and cannot be reached: a link to
  // what is not there, links in a circle.
  bool has(std::string_view file) const;
  // The whole content of a file. Throws Error(kBadFile): missing, a folder, unreadable, or larger than `max_bytes`.
  std::string read(std::string_view file, std::size_t max_bytes = std::size_t{1} << 30) const;
  // Maps a .safetensors file or, built in, uses its bytes where they lie. Throws Error(kBadFile).
  SafetensorsFile open_safetensors(std::string_view file) const;
  // The same of a file of torch.save's.
  PytorchFile open_pytorch(std::string_view file) const;

  // On disk: the path as it was given. Built in: the name.
  const std::filesystem::path& path() const { return path_; }

 private:
  Folder() = default;
  const MemoryFile* find(std::string_view file) const;
  const MemoryFile& require(std::string_view file) const;

  std::filesystem::path path_;
  std::string name_;  // empty: the path's
  bool built_in_ = false;
  std::vector<MemoryFile> files_;
  std::shared_ptr<const Folder> adapter_;
};

}  // namespace attnflow

#endif  // ATTNFLOW_FILES_FOLDER_H_
