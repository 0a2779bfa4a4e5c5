#include "attnflow/image/idx_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "attnflow/base/checked_size.h"
#include "attnflow/base/error.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/messages.h"

namespace attnflow {

namespace {

constexpr std::size_t kMaxValues = std::size_t{1} << 28;
constexpr std::size_t kMaxDimensions = 3;
constexpr std::uint8_t kUnsignedByte = 0x08;

// Fills `out` from its beginning; only at the end of the data are fewer bytes read than requested.
using ReadBytes = std::function<std::size_t(std::span<std::uint8_t> out)>;

// One gzip member; zlib verifies its checksum and length before the end is reported.
class GzipSource {
 public:
  GzipSource(std::span<const std::byte> bytes, std::string name) : left_(bytes), name_(std::move(name)) {
    constexpr int kLargestWindow = 15;
    constexpr int kGzip = 16;
    if (inflateInit2(&stream_, kLargestWindow + kGzip) != Z_OK) {
      throw Error(ErrorKind::kOther, "zlib: out of memory for a decompressor");
    }
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() { inflateEnd(&stream_); }

  std::size_t read(std::span<std::uint8_t> out) {
    std::size_t done = 0;
    while (done < out.size() && !ended_) {
      const std::size_t given = std::min(left_.size(), kPiece);
      const std::size_t wanted = std::min(out.size() - done, kPiece);
      // zlib does not write through next_in; its interface is older than const.
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(left_.data()));
      stream_.avail_in = static_cast<uInt>(given);
      stream_.next_out = out.data() + done;
      stream_.avail_out = static_cast<uInt>(wanted);
      const int status = inflate(&stream_, Z_NO_FLUSH);
      left_ = left_.subspan(given - stream_.avail_in);
      done += wanted - stream_.avail_out;
      if (status == Z_STREAM_END) {
        end();
      } else if (status == Z_BUF_ERROR || (status == Z_OK && left_.empty() && stream_.avail_out > 0)) {
        internal::fail_file(name_, "the gzip file is truncated; download it again");
      } else if (status != Z_OK) {
        internal::fail_file(name_, fmt::format("the gzip data is damaged ({}); download it again",
                                               stream_.msg == nullptr ? "no reason given" : stream_.msg));
      }
    }
    return done;
  }

 private:
  void end() {
    ended_ = true;
    if (left_.empty()) return;
    internal::fail_file(
        name_, fmt::format("expected nothing after the gzip data, found {} bytes; download it again", left_.size()));
  }

  // Less than zlib's 32-bit counters can hold.
  static constexpr std::size_t kPiece = std::size_t{1} << 20;

  std::span<const std::byte> left_;
  std::string name_;
  z_stream stream_{};
  bool ended_ = false;
};

Shape read_header(const ReadBytes& read, const std::string& name) {
  constexpr std::size_t kWord = 4;
  std::array<std::uint8_t, kWord*(1 + kMaxDimensions)> header{};
  const std::span<std::uint8_t> bytes(header);
  const auto require = [&](std::size_t begin, std::size_t count) {
    const std::size_t found = read(bytes.subspan(begin, count));
    if (found == count) return;
    internal::fail_file(name, fmt::format("expected the header of an IDX file, found only {} bytes", begin + found));
  };
  require(0, kWord);
  const std::size_t dimensions = header[3];
  if (header[0] != 0 || header[1] != 0) {
    internal::fail_file(name, fmt::format("expected an IDX file, beginning with two zero bytes, found {:02x} {:02x}",
                                          header[0], header[1]));
  }
  if (header[2] != kUnsignedByte || dimensions == 0 || dimensions > kMaxDimensions) {
    internal::fail_file(
        name, fmt::format("expected an IDX file of unsigned bytes (type 08) in 1 to {} dimensions, found type "
                          "{:02x} in {}",
                          kMaxDimensions, header[2], dimensions));
  }
  require(kWord, kWord * dimensions);
  Shape shape;
  for (std::size_t d = 1; d <= dimensions; ++d) {
    std::size_t extent = 0;
    for (std::size_t b = 0; b < kWord; ++b) extent = extent << 8U | header[kWord * d + b];
    shape.push_back(extent);
  }
  return shape;
}

std::vector<std::uint8_t> read_values(const ReadBytes& read, std::size_t count, const std::string& name) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<std::uint8_t> values;
  std::size_t done = 0;
  while (done < count) {
    values.resize(std::min(count, done + kPiece));
    const std::size_t found = read(std::span(values).subspan(done));
    done += found;
    if (found == 0 || done < values.size()) {
      internal::fail_file(name, fmt::format("expected {} values, as its header says, found {}", count, done));
    }
  }
  // Reads up to the end, because a compressed file is only verified there.
  std::uint8_t more = 0;
  if (read({&more, 1}) != 0) {
    internal::fail_file(name, fmt::format("expected {} values, as its header says, found more", count));
  }
  return values;
}

Tensor<std::uint8_t> read_array(const ReadBytes& read, const std::string& name) {
  Shape shape = read_header(read, name);
  const std::optional<std::size_t> count = checked_product(shape);
  if (!count || *count == 0 || *count > kMaxValues) {
    internal::fail_file(name, fmt::format("expected dimensions of 1 or more and at most {} values in all, "
                                          "found {}",
                                          kMaxValues, shape_to_string(shape)));
  }
  std::vector<std::uint8_t> values = read_values(read, *count, name);
  return {std::move(shape), std::move(values)};
}

}  // namespace

Tensor<std::uint8_t> parse_idx(std::span<const std::byte> bytes, const std::string& source) {
  constexpr std::byte kGzipFirst{0x1f};
  constexpr std::byte kGzipSecond{0x8b};
  if (bytes.size() >= 2 && bytes[0] == kGzipFirst && bytes[1] == kGzipSecond) {
    GzipSource data(bytes, source);
    return read_array([&data](std::span<std::uint8_t> out) { return data.read(out); }, source);
  }
  const auto copy = [left = bytes](std::span<std::uint8_t> out) mutable {
    const std::size_t count = std::min(out.size(), left.size());
    if (count > 0) std::memcpy(out.data(), left.data(), count);
    left = left.subspan(count);
    return count;
  };
  return read_array(copy, source);
}

Tensor<std::uint8_t> read_idx(const std::filesystem::path& path) {
  const std::string content = read_file(path);
  return parse_idx(std::as_bytes(std::span(content)), path.string());
}

}  // namespace attnflow
