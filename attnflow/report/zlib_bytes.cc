#include "attnflow/report/zlib_bytes.h"

#include <zlib.h>

#include "attnflow/base/error.h"

namespace attnflow::internal {
namespace {

Error no_memory() { return {ErrorKind::kOther, "zlib: out of memory for a stream"}; }

Bytef* bytes_of(std::vector<std::byte>& bytes) { return reinterpret_cast<Bytef*>(bytes.data()); }
const Bytef* bytes_of(std::span<const std::byte> bytes) { return reinterpret_cast<const Bytef*>(bytes.data()); }

}  // namespace

std::vector<std::byte> zlib_compress(std::span<const std::byte> bytes) {
  uLongf size = compressBound(bytes.size());
  std::vector<std::byte> out(size);
  if (compress(bytes_of(out), &size, bytes_of(bytes), bytes.size()) != Z_OK) throw no_memory();
  out.resize(size);
  return out;
}

std::optional<std::vector<std::byte>> zlib_uncompress(std::span<const std::byte> packed, std::size_t least,
                                                      std::size_t most) {
  // Deflate codes 258 bytes in at least 2 bits, which bounds the ratio.
  constexpr std::size_t kMaxRatio = 1032;
  uLongf size = packed.size() > most / kMaxRatio ? most : packed.size() * kMaxRatio;
  if (least > size) return std::nullopt;
  std::vector<std::byte> out(size);
  uLong taken = packed.size();
  const int status = uncompress2(bytes_of(out), &size, bytes_of(packed), &taken);
  if (status == Z_MEM_ERROR) throw no_memory();
  if (status != Z_OK || taken != packed.size() || size < least) return std::nullopt;
  out.resize(size);
  return out;
}

}  // namespace attnflow::internal
