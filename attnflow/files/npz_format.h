// The .npz reader on bytes in memory; read_npz and list_npz open a file and do the same.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/array_file.h"

namespace attnflow::internal {

// `archive` is the content of a whole file; messages call it `name`. Both throw Error(kBadFile).
std::vector<std::string> list_npz(std::span<const std::byte> archive, const std::string& name);
Array parse_npz(std::span<const std::byte> archive, const std::string& name, std::string_view key,
                const ReadLimits& limits);

}  // namespace attnflow::internal
