// What writing to a path means: which file is replaced, or what is written to directly.
#ifndef ATTNFLOW_FILES_OUTPUT_TARGET_H_
#define ATTNFLOW_FILES_OUTPUT_TARGET_H_

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace attnflow::internal {

// What a file is, by the st_mode of stat(): "a folder", "a pipe (FIFO)", "a socket", "a device", "a regular file".
std::string_view file_kind(mode_t mode);

// Whether an output of a command (command_files.h) is its standard output: "-", or with the ending of another kind
// "-.csv". A file of that name is "./-.csv".
bool is_standard_output(const std::filesystem::path& path);

// The ending that says what an output is written as: ".png" for "a.PNG", "" without one; ".json" for "-".
std::string output_ending(const std::filesystem::path& path);

// The path with all links followed at its end, also those that lead to a file that is not there yet: a link stays a
// link, what it points to is written. Throws Error(kOther) that names it for links in a circle. The process's own
// streams (/dev/stdout, /dev/fd/N, /proc/...) stay what they are.
std::filesystem::path output_target(const std::filesystem::path& path);

// True for the process's own streams and for character devices such as /dev/null: renaming a file over them would
// replace the name and not reach what stands behind it. /dev/stdout counts even where it leads to a regular file.
bool is_written_directly(const std::filesystem::path& target);

// Throws Error(kUsage) that names `path` when `target`, from output_target(), is no name for a file (a folder, no name
// at all), Error(kOther) when it is something that is not written to: a pipe, which may never be read, a socket, a
// disk.
void check_target(const std::filesystem::path& path, const std::filesystem::path& target);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_OUTPUT_TARGET_H_
