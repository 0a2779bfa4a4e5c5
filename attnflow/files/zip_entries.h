// Where the entries of a zip file lie, for files that hold them as they are: to be mapped, not decompressed.
//
// libzip, which reads .npz files, does not say at which byte an entry begins.
//
// References:
//   The format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#ifndef ATTNFLOW_FILES_ZIP_ENTRIES_H_
#define ATTNFLOW_FILES_ZIP_ENTRIES_H_

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace attnflow::internal {

// By name; names and bytes point into `archive`, a whole file. Throws Error(kBadFile): no zip file, a truncated one, an
// entry that is compressed, encrypted, there twice, outside the file or over another; `source` is what messages call
// it. Work and memory are linear in the number of entries.
std::map<std::string_view, std::span<const std::byte>> list_stored_entries(std::span<const std::byte> archive,
                                                                           const std::string& source);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_ZIP_ENTRIES_H_
