// The in-memory part of the .safetensors reader; SafetensorsFile maps a file and calls it.
#ifndef ATTNFLOW_FILES_SAFETENSORS_PARSE_H_
#define ATTNFLOW_FILES_SAFETENSORS_PARSE_H_

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "attnflow/files/safetensors.h"

namespace attnflow::internal {

// Larger headers are rejected, as by the format's own library: 100 MB.
inline constexpr std::size_t kMaxSafetensorsHeader = 100'000'000;

struct SafetensorsContent {
  std::map<std::string, SafetensorsFile::Entry, std::less<>> entries;  // `bytes` point into the file
  std::map<std::string, std::string, std::less<>> metadata;
  std::map<std::string, std::string, std::less<>> unread;  // as SafetensorsFile::unread()
};

// Parses `file`, the content of a whole file; messages call it `name`. Throws Error(kBadFile). Time and memory are
// linear in the header's length; tensor data is not touched.
SafetensorsContent parse_safetensors(std::span<const std::byte> file, const std::string& name);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_SAFETENSORS_PARSE_H_
