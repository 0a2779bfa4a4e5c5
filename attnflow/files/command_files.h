// The files of one command, so that none of them is an input and an output, or two outputs.
//
// A program keeps one list while it runs a command. Every reader opens its file through InputFile, and every writer
// puts its file in place through AtomicFile: both tell the list, so that no command, and no reader or writer that is
// added, can be forgotten. A command that also names its outputs before it reads (add_output) is refused before its
// work rather than after it. Where there is no list, as in a program that uses the library, nothing is refused.
//
// Files are compared, not names: two paths are the same file when device and inode are, which links, `./` and `..` do
// not change. A file that does not exist yet is a name in a folder, which has a device and an inode too.
#ifndef ATTNFLOW_FILES_COMMAND_FILES_H_
#define ATTNFLOW_FILES_COMMAND_FILES_H_

#include <sys/stat.h>

#include <compare>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace attnflow::internal {

// What a path stands for: a file, or with a `name` what is called so in the folder.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;
  auto operator<=>(const FileId&) const = default;  // NOLINT(modernize-use-nullptr): a mistake of clang-tidy 14
};

// One at a time. Functions may be called from several threads.
class CommandFiles {
 public:
  CommandFiles();
  CommandFiles(const CommandFiles&) = delete;
  CommandFiles& operator=(const CommandFiles&) = delete;
  ~CommandFiles();

  // Inputs may be replaced: the user said so.
  void allow_replacing_inputs();
  // Messages name this option ("--force"), by which a user says so.
  void say_how_to_replace(std::string option);
  // A file that the command is to write. Throws Error(kUsage): another output is the same file, or standard output,
  // too; an input is, or it can be no file (see check_target). Devices are never compared.
  void add_output(const std::filesystem::path& path);
  // Files below this folder are the command's own: it reads what it wrote there, also in an earlier run.
  void add_work_folder(const std::filesystem::path& folder);
  // For InputFile: this regular file was opened. Throws Error(kUsage) when it is an output.
  void add_input(const std::filesystem::path& path, const struct stat& status);
  // For Folder: a model's folder is read. What belongs to the model there is an input, read or not: its card, its
  // licence. Throws Error(kUsage) when add_output() named such a file that was there already.
  void add_input_folder(const std::filesystem::path& folder);
  // For AtomicFile: this file is about to be written. Throws Error(kUsage) when it is an input.
  void check_replaced(const std::filesystem::path& path);

 private:
  [[noreturn]] void refuse(const std::filesystem::path& output, const std::filesystem::path& input) const;

  // A file that add_output() named and that was there already, in this folder.
  struct Replaced {
    FileId folder;
    std::filesystem::path path;
  };

  std::mutex mutex_;
  std::string how_to_replace_;
  std::string standard_output_;  // the output that goes there, as it was named; empty: none
  bool may_replace_inputs_ = false;
  std::map<FileId, std::filesystem::path> inputs_;
  std::map<FileId, std::filesystem::path> outputs_;
  std::vector<Replaced> replaced_;
  std::map<FileId, std::filesystem::path> input_folders_;
  std::vector<std::filesystem::path> work_folders_;
};

// The list of the command that runs, if there is one.
CommandFiles* command_files();

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_COMMAND_FILES_H_
