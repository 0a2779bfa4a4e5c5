#pragma once

#include <zlib.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow::test {

inline std::string idx_header(const std::vector<std::uint32_t>& dimensions, unsigned char type = 0x08) {
  std::string bytes = {'\0', '\0', static_cast<char>(type), static_cast<char>(dimensions.size())};
  for (const std::uint32_t extent : dimensions) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(extent >> shift & 0xffU);
  }
  return bytes;
}

inline std::string idx(const std::vector<std::uint32_t>& dimensions, std::span<const std::uint8_t> values) {
  return idx_header(dimensions) + std::string(values.begin(), values.end());
}

inline std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("deflate");
  return out;
}

}  // namespace attnflow::test
