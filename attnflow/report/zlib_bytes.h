// Converts bytes to and from a zlib stream (RFC 1950) for the compact report document.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace attnflow::internal {

// The same bytes give the same stream, with one version of zlib.
std::vector<std::byte> zlib_compress(std::span<const std::byte> bytes);

// The inverse for a stream of `least` to `most` bytes. Returns nothing if there are fewer or more, the stream is
// damaged or truncated, or bytes follow it. Never allocates more than the stream can represent.
std::optional<std::vector<std::byte>> zlib_uncompress(std::span<const std::byte> packed, std::size_t least,
                                                      std::size_t most);

}  // namespace attnflow::internal
