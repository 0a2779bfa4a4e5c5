// Opens files for reading; every reader goes through here.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace attnflow::internal {

// Whether a folder has a reachable entry of this name. Throws Error(kBadFile) if the entry exists but is unreachable (a
// dangling link, a link cycle, a parent folder without search permission): treating it as missing would silently use
// another file.
bool is_listed(const std::filesystem::path& path);

// A regular file opened for reading, possibly through a link or /dev/stdin. Anything else is rejected at once: a pipe
// or terminal may never answer, a device may never end, and none has a size to check a header against. Registers with
// the command's list of files (command_files.h).
class InputFile {
 public:
  // `expected` describes the file in messages: "a NumPy .npy file". Throws Error(kBadFile) if the file cannot be opened
  // or is not a regular file, and Error(kUsage) if the command is about to replace it.
  InputFile(const std::filesystem::path& path, std::string_view expected);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  std::size_t read(std::span<std::byte> into) const;

  int descriptor() const { return descriptor_; }
  // Transfers the descriptor to the caller, who must close it.
  int release();
  // The file may grow while it is read; files in /proc report 0.
  std::size_t size() const { return size_; }

 private:
  std::string name_;  // for messages
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

}  // namespace attnflow::internal
