// Files and folders under temporary names, and what killed runs left of them.
//
// Output appears whole or not at all: it is made as `.attnflow-PID-N.tmp` beside its place, and renamed. A run that is
// killed leaves that behind, and the next one that writes into the folder removes it.
#ifndef ATTNFLOW_FILES_TEMPORARY_ENTRY_H_
#define ATTNFLOW_FILES_TEMPORARY_ENTRY_H_

#include <filesystem>

namespace attnflow::internal {

// A new empty file, or folder, under a temporary name in `folder`, locked (flock) as long as the descriptor is open:
// the system gives the lock back when its process ends, however that ends, and everybody on the machine sees it, also
// from another container.
struct TemporaryEntry {
  std::filesystem::path path;
  int descriptor = -1;  // open for writing, of a folder for reading; -1: it could not be made, errno says why
};
TemporaryEntry make_temporary_file(const std::filesystem::path& folder);
TemporaryEntry make_temporary_folder(const std::filesystem::path& folder);

// Removes files and folders of that name in `folder` whose run is gone: of this user, made by a process that does not
// exist and locked by none. On file systems that other machines may write to (NFS, SMB and all that are not known to be
// local) nothing is removed: their processes cannot be seen from here. What cannot be removed stays, without an error.
void remove_leftovers(const std::filesystem::path& folder);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_TEMPORARY_ENTRY_H_
