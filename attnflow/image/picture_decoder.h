// Shared by the decoders of the three formats. Each reads the header, checks the size, and only then decodes.
//
// libpng and libjpeg report errors by calling a function that must not return. It leaves by longjmp, to a setjmp in a
// function that has no objects with destructors and calls only the library: everything that owns memory is created
// before the jump and outlives it, so no destructor is skipped. The caller then throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/image/picture.h"

namespace attnflow::internal {

struct DecoderInput {
  std::span<const std::byte> bytes;
  const std::string& source;
  const PictureOptions& options;

  [[noreturn]] void fail(const std::string& message) const;
  [[noreturn]] void truncated(std::string_view format, const std::string& detail) const;
  // Reports damaged data with the library's own description.
  [[noreturn]] void damaged(std::string_view format, std::string_view reason) const;
  [[noreturn]] void animated(std::string_view format, std::size_t frames) const;
  // Throws for a side of 0 and for more pixels than the option allows.
  void check_size(std::string_view format, std::uint64_t width, std::uint64_t height) const;
};

struct DecodedPicture {
  std::size_t width = 0;
  std::size_t height = 0;
  std::size_t channels = 3;           // 3, or 4 with alpha
  std::vector<std::uint8_t> samples;  // [height, width, channels]
  PictureOrigin origin;
};

DecodedPicture decode_png(const DecoderInput& input);
DecodedPicture decode_jpeg(const DecoderInput& input);
DecodedPicture decode_webp(const DecoderInput& input);

// Describes what a file that is not PNG, JPEG or WebP seems to be, for a message: "a GIF picture", "an empty file",
// "text that begins ...", "bytes that begin 00 01 02".
std::string describe_bytes(std::span<const std::byte> bytes);

// Returns the orientation, 1 to 8, given by Exif data (a TIFF header and its first directory); 1 if there is none or it
// makes no sense.
int exif_orientation(std::span<const std::byte> exif);

// Turns [height, width, 3] upright: orientation 1 to 8 as numbered by EXIF (tag 0x0112 of Exif 2.3, 4.6.4).
Tensor<std::uint8_t> turn_upright(Tensor<std::uint8_t> rgb, int orientation);

// Big- and little-endian numbers at `at`, which must lie inside.
inline std::uint32_t byte_at(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<std::uint32_t>(bytes[at]);
}
inline std::uint32_t big_u32(std::span<const std::byte> bytes, std::size_t at) {
  return byte_at(bytes, at) << 24 | byte_at(bytes, at + 1) << 16 | byte_at(bytes, at + 2) << 8 | byte_at(bytes, at + 3);
}
inline std::uint32_t little_u32(std::span<const std::byte> bytes, std::size_t at) {
  return byte_at(bytes, at + 3) << 24 | byte_at(bytes, at + 2) << 16 | byte_at(bytes, at + 1) << 8 | byte_at(bytes, at);
}
// Whether the bytes from `at` on begin with this text.
inline bool has_text(std::span<const std::byte> bytes, std::size_t at, std::string_view text) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return at <= all.size() && all.substr(at).starts_with(text);
}

// Mixes each pixel's fourth sample into the other three, in place: [pixels, 4] becomes [pixels, 3].
template <typename Mix>
void mix_in_fourth(std::vector<std::uint8_t>& samples, const Mix& mix) {
  const std::size_t pixels = samples.size() / 4;
  for (std::size_t i = 0; i < pixels; ++i) {
    const unsigned fourth = samples[4 * i + 3];
    for (std::size_t c = 0; c < 3; ++c) samples[3 * i + c] = static_cast<std::uint8_t>(mix(samples[4 * i + c], fourth));
  }
  samples.resize(3 * pixels);
}

}  // namespace attnflow::internal
