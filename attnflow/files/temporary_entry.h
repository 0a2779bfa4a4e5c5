// Files and folders under temporary names, and cleanup of those left by killed runs.
//
// Output appears whole or not at all: it is created next to its destination as `.attnflow-PID-N.tmp`, and then renamed.
// A killed run leaves that file, and the next run that writes into the folder removes it.
#pragma once

#include <filesystem>

namespace attnflow::internal {

// A new empty file or folder under a temporary name in `folder`, locked (flock) while the descriptor is open. The
// system releases the lock when the process ends in any way, and every process on the machine sees it, even from
// another container.
struct TemporaryEntry {
  std::filesystem::path path;
  int descriptor = -1;  // open for writing (a folder: for reading); -1: creation failed, errno says why
};
TemporaryEntry make_temporary_file(const std::filesystem::path& folder);
TemporaryEntry make_temporary_folder(const std::filesystem::path& folder);

// Removes temporary files and folders in `folder` whose run is gone: owned by this user, created by a process that no
// longer exists, and not locked. Nothing is removed on file systems that other machines may write to (NFS, SMB and all
// not known to be local), because their processes cannot be seen. Entries that cannot be removed are left without an
// error.
void remove_leftovers(const std::filesystem::path& folder);

}  // namespace attnflow::internal
