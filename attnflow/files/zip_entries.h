// Locates the entries of a zip file that stores them uncompressed, so that they can be mapped.
//
// libzip, which reads .npz files, does not report an entry's byte offset.
//
// References:
//   The format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace attnflow::internal {

// Returns the entries by name; names and bytes point into `archive`, the content of a whole file. Throws
// Error(kBadFile) if this is not a zip file or is truncated, or if an entry is compressed, encrypted, duplicated,
// outside the file or overlapping another; messages call it `source`. Time and memory are linear in the number of
// entries.
std::map<std::string_view, std::span<const std::byte>> list_stored_entries(std::span<const std::byte> archive,
                                                                           const std::string& source);

}  // namespace attnflow::internal
