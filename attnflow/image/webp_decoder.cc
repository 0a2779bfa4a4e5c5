#include <fmt/format.h>
#include <webp/decode.h>

#include "attnflow/image/picture_decoder.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kRiffBytes = 12;

// Every chunk must lie inside the file.
std::span<const std::byte> find_exif(const DecoderInput& input) {
  constexpr std::size_t kChunkHeader = 8;
  const std::uint64_t said = std::uint64_t{little_u32(input.bytes, 4)} + 8;
  if (said > input.bytes.size()) {
    input.truncated("WebP",
                    fmt::format("its header claims {} bytes, but only {} are present", said, input.bytes.size()));
  }
  const std::span<const std::byte> bytes = input.bytes.first(static_cast<std::size_t>(said));
  std::span<const std::byte> exif;
  for (std::size_t at = kRiffBytes; bytes.size() >= at + kChunkHeader;) {
    const std::size_t length = little_u32(bytes, at + 4);
    if (length > bytes.size() - at - kChunkHeader) {
      input.truncated("WebP", fmt::format("the chunk at byte {} has {} bytes, of which only {} are present", at, length,
                                          bytes.size() - at - kChunkHeader));
    }
    if (has_text(bytes, at, "EXIF")) exif = bytes.subspan(at + kChunkHeader, length);
    const std::size_t padded = length + length % 2;
    if (padded > bytes.size() - at - kChunkHeader) break;
    at += kChunkHeader + padded;
  }
  // Some writers keep the marker that JPEG requires.
  constexpr std::string_view kMark("Exif\0\0", 6);
  return has_text(exif, 0, kMark) ? exif.subspan(kMark.size()) : exif;
}

const char* reason(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "not enough memory";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "a feature that libwebp does not support";
    default:
      return "its bit stream is invalid";
  }
}

[[noreturn]] void fail_webp(const DecoderInput& input, VP8StatusCode status) {
  if (status == VP8_STATUS_NOT_ENOUGH_DATA || status == VP8_STATUS_SUSPENDED) {
    input.truncated("WebP", "its data ends before its last row");
  }
  input.damaged("WebP", reason(status));
}

}  // namespace

DecodedPicture decode_webp(const DecoderInput& input) {
  const std::span<const std::byte> exif = find_exif(input);
  const auto* const data = reinterpret_cast<const std::uint8_t*>(input.bytes.data());
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) input.fail("libwebp and its headers have different versions");
  const VP8StatusCode header = WebPGetFeatures(data, input.bytes.size(), &config.input);
  if (header != VP8_STATUS_OK) fail_webp(input, header);
  if (config.input.has_animation != 0) input.animated("WebP", 0);
  if (config.input.width < 0 || config.input.height < 0) input.damaged("WebP", "a negative size");

  DecodedPicture picture;
  picture.width = static_cast<std::size_t>(config.input.width);
  picture.height = static_cast<std::size_t>(config.input.height);
  input.check_size("WebP", picture.width, picture.height);
  const bool alpha = config.input.has_alpha != 0;
  picture.channels = alpha ? 4 : 3;
  picture.origin = {PictureFormat::kWebp, alpha ? "RGB with alpha" : "RGB", exif_orientation(exif)};
  picture.samples.resize(picture.height * picture.width * picture.channels);

  config.output.colorspace = alpha ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = picture.samples.data();
  config.output.u.RGBA.stride = static_cast<int>(picture.width * picture.channels);
  config.output.u.RGBA.size = picture.samples.size();
  const VP8StatusCode status = WebPDecode(data, input.bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);  // does not free our memory, which is external
  if (status != VP8_STATUS_OK) fail_webp(input, status);
  return picture;
}

}  // namespace attnflow::internal
