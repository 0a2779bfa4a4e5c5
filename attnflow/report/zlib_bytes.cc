#include "attnflow/report/zlib_bytes.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "attnflow/base/error.h"

namespace attnflow::internal {
namespace {

// Below what zlib's 32-bit counters hold.
constexpr std::size_t kPiece = std::size_t{1} << 20;

[[noreturn]] void no_memory() { throw Error(ErrorKind::kOther, "zlib: out of memory for a stream"); }

// zlib does not write through next_in; its interface is older than const.
Bytef* input(std::span<const std::byte> bytes) {
  return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
}

struct Stream {
  explicit Stream(int (*at_end)(z_streamp)) : end(at_end) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { end(&stream); }
  int (*end)(z_streamp);
  z_stream stream{};
};

}  // namespace

std::vector<std::byte> zlib_compress(std::span<const std::byte> bytes) {
  Stream deflater(deflateEnd);
  z_stream& stream = deflater.stream;
  if (deflateInit(&stream, Z_DEFAULT_COMPRESSION) != Z_OK) no_memory();
  std::vector<std::byte> out;
  std::size_t size = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const std::size_t given = std::min(bytes.size(), kPiece);
    if (out.size() - size < kPiece) out.resize(std::max(size + kPiece, out.size() + out.size() / 2));
    stream.next_in = input(bytes);
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + size);
    stream.avail_out = static_cast<uInt>(kPiece);
    status = deflate(&stream, given == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    bytes = bytes.subspan(given - stream.avail_in);
    size += kPiece - stream.avail_out;
  }
  out.resize(size);
  return out;
}

std::size_t zlib_most_bytes(std::size_t packed) {
  constexpr std::size_t kMaxRatio = 1032;
  constexpr std::size_t kLargest = std::numeric_limits<std::size_t>::max();
  return packed > kLargest / kMaxRatio ? kLargest : packed * kMaxRatio;
}

std::optional<std::vector<std::byte>> zlib_uncompress(std::span<const std::byte> packed, std::size_t least,
                                                      std::size_t most) {
  if (least > most || zlib_most_bytes(packed.size()) < least) return std::nullopt;
  Stream inflater(inflateEnd);
  z_stream& stream = inflater.stream;
  if (inflateInit(&stream) != Z_OK) no_memory();
  std::vector<std::byte> out(least);
  std::size_t size = 0;
  std::byte beyond{};  // where a byte too many would go
  for (;;) {
    const bool full = size == most;
    if (!full && size == out.size()) out.resize(std::min(most, std::max(size + size / 2, size + kPiece)));
    const std::size_t given = std::min(packed.size(), kPiece);
    const std::size_t wanted = full ? 1 : std::min(out.size() - size, kPiece);
    stream.next_in = input(packed);
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = reinterpret_cast<Bytef*>(full ? &beyond : out.data() + size);
    stream.avail_out = static_cast<uInt>(wanted);
    const int status = inflate(&stream, Z_NO_FLUSH);
    const std::size_t made = wanted - stream.avail_out;
    packed = packed.subspan(given - stream.avail_in);
    if (full && made > 0) return std::nullopt;
    size += made;
    if (status == Z_STREAM_END) break;
    if (status == Z_MEM_ERROR) no_memory();
    // Without an error and without the end, there is either more input or room that was used up.
    if (status != Z_OK || (packed.empty() && stream.avail_out > 0)) return std::nullopt;
  }
  if (!packed.empty() || size < least) return std::nullopt;
  out.resize(size);
  return out;
}

}  // namespace attnflow::internal
