// The part of the .safetensors reader that works on bytes in memory; SafetensorsFile maps a file and calls it.
#ifndef ATTNFLOW_FILES_SAFETENSORS_PARSE_H_
#define ATTNFLOW_FILES_SAFETENSORS_PARSE_H_

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "attnflow/files/safetensors.h"

namespace attnflow::internal {

// Headers beyond this are refused, as the format's own library does: 100 MB.
inline constexpr std::size_t kMaxSafetensorsHeader = 100'000'000;

struct SafetensorsContent {
  std::map<std::string, SafetensorsFile::Entry, std::less<>> entries;  // `bytes` point into the file's bytes
  std::map<std::string, std::string, std::less<>> metadata;
  std::map<std::string, std::string, std::less<>> unread;  // as SafetensorsFile::unread()
};

// `file` is the whole file; `name` is what messages call it. Throws Error(kBadFile). Work and memory are linear in the
// header's length; the tensors' own bytes are not touched.
SafetensorsContent parse_safetensors(std::span<const std::byte> file, const std::string& name);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_SAFETENSORS_PARSE_H_
