// Tracks the files of one command, to ensure that no file is both an input and an output, or written twice.
//
// A program keeps one list while it runs a command. Every reader opens its file through InputFile, and every writer
// puts its file in place through AtomicFile. Both register with the list, so no command, reader or writer can be
// overlooked. A command that also names its outputs before it reads (add_output) fails before its work rather than
// after it. Without a list, as in a program that uses the library, nothing is rejected.
//
// Two paths are the same file when device and inode match, regardless of links, `./` and `..`. A file that does not
// exist yet is identified by its name and its folder's device and inode.
#pragma once

#include <sys/stat.h>

#include <compare>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace attnflow::internal {

// The identity of a path: a file, or, with a `name`, the entry of that name in the folder.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;
  auto operator<=>(const FileId&) const = default;  // NOLINT(modernize-use-nullptr): a mistake of clang-tidy 14
};

// Only one instance may exist at a time. Its functions may be called from several threads.
class CommandFiles {
 public:
  CommandFiles();
  CommandFiles(const CommandFiles&) = delete;
  CommandFiles& operator=(const CommandFiles&) = delete;
  ~CommandFiles();

  // Allows outputs to replace inputs.
  void allow_replacing_inputs();
  // Sets the option ("--force") that messages suggest for allowing this.
  void say_how_to_replace(std::string option);
  // Announces a file that the command will write. Throws Error(kUsage) if another output is the same file or also goes
  // to standard output, if an input is the same file, or if the path cannot be a file (check_target). Devices are never
  // compared.
  void add_output(const std::filesystem::path& path);
  // Files below this folder belong to the command, which may read what it wrote there, even in an earlier run.
  void add_work_folder(const std::filesystem::path& folder);
  // Called by InputFile when it has opened this regular file. Throws Error(kUsage) if the file is an output.
  void add_input(const std::filesystem::path& path, const struct stat& status);
  // Called by Folder when it reads a model's folder. The model's files there are inputs even if they are not read, such
  // as its card and license. Throws Error(kUsage) if add_output() named such a file that already existed.
  void add_input_folder(const std::filesystem::path& folder);
  // Called by AtomicFile before it writes this file. Throws Error(kUsage) if the file is an input.
  void check_replaced(const std::filesystem::path& path);

 private:
  [[noreturn]] void refuse(const std::filesystem::path& output, const std::filesystem::path& input) const;

  // An existing file in this folder that add_output() named.
  struct Replaced {
    FileId folder;
    std::filesystem::path path;
  };

  std::mutex mutex_;
  std::string how_to_replace_;
  std::string standard_output_;  // the output that goes there, by its given name; empty: none
  bool may_replace_inputs_ = false;
  std::map<FileId, std::filesystem::path> inputs_;
  std::map<FileId, std::filesystem::path> outputs_;
  std::vector<Replaced> replaced_;
  std::map<FileId, std::filesystem::path> input_folders_;
  std::vector<std::filesystem::path> work_folders_;
};

// The list of the running command, or null.
CommandFiles* command_files();

}  // namespace attnflow::internal
