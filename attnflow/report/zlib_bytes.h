// Bytes as a zlib stream (RFC 1950) for the compact report document, and back.
#ifndef ATTNFLOW_REPORT_ZLIB_BYTES_H_
#define ATTNFLOW_REPORT_ZLIB_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attnflow::internal {

// The same bytes give the same stream, with one version of zlib.
std::vector<std::byte> zlib_compress(std::span<const std::byte> bytes);

// A stream of `packed` bytes cannot stand for more than this: deflate codes 258 bytes in no less than 2 bits. A reader
// that knows how many bytes it wants can refuse a stream that is too short for them before it allocates any.
std::size_t zlib_most_bytes(std::size_t packed);

// The inverse for a stream that stands for at least `least` and at most `most` bytes. Nothing when it stands for fewer
// or more, is damaged or cut off, or has bytes behind its end. Inflates at most `most` + 1 bytes.
std::optional<std::vector<std::byte>> zlib_uncompress(std::span<const std::byte> packed, std::size_t least,
                                                      std::size_t most);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_REPORT_ZLIB_BYTES_H_
