// Resolves the path of an output: which file is replaced, or what is written directly.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace attnflow::internal {

// Describes a file by the st_mode of stat(): "a folder", "a pipe (FIFO)", "a socket", "a device", "a regular file".
std::string_view file_kind(mode_t mode);

// Whether an output of a command is its standard output: "-", or with the extension of another format "-.csv". A file
// of that name must be written "./-.csv".
bool is_standard_output(const std::filesystem::path& path);

// The extension that determines an output's format: ".png" for "a.PNG", "" without one; ".json" for "-".
std::string output_ending(const std::filesystem::path& path);

// Follows all links at the path's end, including those to a file that does not exist yet: a link is kept, and the file
// it points to is written. Throws Error(kOther) naming the path for a link cycle. The process's own streams
// (/dev/stdout, /dev/fd/N, /proc/...) are left as they are.
std::filesystem::path output_target(const std::filesystem::path& path);

// True for the process's own streams and for character devices such as /dev/null: renaming a file over them would
// replace the name and not reach the underlying stream. /dev/stdout counts even if it leads to a regular file.
bool is_written_directly(const std::filesystem::path& target);

// `target` comes from output_target(). Throws Error(kUsage) naming `path` when `target` cannot name a file (a folder,
// an empty name), and Error(kOther) when it is something that cannot be written to: a pipe, which may never be read, a
// socket, a disk.
void check_target(const std::filesystem::path& path, const std::filesystem::path& target);

}  // namespace attnflow::internal
