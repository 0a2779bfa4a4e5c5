// Output files that are either complete or absent.
//
// Example:
//
//     {
//       AtomicFile file("words.csv");
//       file.write("word,weight\n");
//       file.write("key,0.75\n");
//       file.commit();  // not reached if something throws first: then words.csv is unchanged
//     }
//     assert(read_file("words.csv") == "word,weight\nkey,0.75\n");
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace attnflow {

// Writes to a temporary name in the target's folder; commit() renames it over the target. Without commit() the
// temporary file is removed and the target is unchanged. Links are followed. The process's own streams and character
// devices are written directly; pipes, sockets and folders are rejected. Throws Error(kUsage) if the path names a
// folder or an input of the running command (command_files.h), and Error(kOther) with the path and the system's reason
// for other failures.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  // For libraries that write by file name or descriptor.
  const std::filesystem::path& temporary_path() const { return temporary_; }
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  std::FILE* file_ = nullptr;
  bool committed_ = false;
};

void write_file(const std::filesystem::path& path, std::string_view content);

// Throws Error(kBadFile) if the file is missing, not a regular file, unreadable, or larger than `max_bytes`.
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes = std::size_t{1} << 30);

}  // namespace attnflow
