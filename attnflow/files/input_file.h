// Opening files to read: the one way in, for every reader.
#ifndef ATTNFLOW_FILES_INPUT_FILE_H_
#define ATTNFLOW_FILES_INPUT_FILE_H_

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace attnflow::internal {

// Whether a folder lists something by this name that can be reached. Throws Error(kBadFile), with the reason, where it
// is listed and cannot be reached (a link to what is not there, links in a circle, a folder on the way that may not be
// entered): taking such a file for one that is missing would use another in its place.
bool is_listed(const std::filesystem::path& path);

// A regular file, open for reading, also where a link or /dev/stdin leads to one. Anything else is refused at once:
// a pipe or a terminal may never answer, a device may never end, and none of them has a size to check a header against.
// The command's list of its files learns of it (command_files.h).
class InputFile {
 public:
  // `expected` says in messages what the file should be: "a NumPy .npy file". Throws Error(kBadFile): cannot be opened,
  // no regular file. Throws Error(kUsage) for a file that the command is about to replace.
  InputFile(const std::filesystem::path& path, std::string_view expected);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  // The next bytes, as many as fit; fewer only at the end. Throws Error(kBadFile) when they cannot be had.
  std::size_t read(std::span<std::byte> into) const;

  int descriptor() const { return descriptor_; }
  // Hands the descriptor over: whoever takes it closes it.
  int release();
  // Bytes when it was opened. It may grow while it is read; files of /proc say 0.
  std::size_t size() const { return size_; }

 private:
  std::string name_;  // for messages
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_INPUT_FILE_H_
