// Bytes as a zlib stream (RFC 1950) for the compact report document, and back.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace attnflow::internal {

// The same bytes give the same stream, with one version of zlib.
std::vector<std::byte> zlib_compress(std::span<const std::byte> bytes);

// The inverse for a stream that stands for at least `least` and at most `most` bytes. Nothing when it stands for fewer
// or more, is damaged or cut off, or has bytes behind its end. Nothing is allocated for more than its bytes can stand
// for.
std::optional<std::vector<std::byte>> zlib_uncompress(std::span<const std::byte> packed, std::size_t least,
                                                      std::size_t most);

}  // namespace attnflow::internal
