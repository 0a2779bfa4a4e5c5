#include "attnflow/image/picture.h"

#include <fmt/format.h>

#include <utility>

#include "attnflow/base/checked_size.h"
#include "attnflow/base/error.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/image/picture_decoder.h"

namespace attnflow {
namespace internal {

void DecoderInput::fail(const std::string& message) const { throw Error(ErrorKind::kBadFile, source + ": " + message); }

void DecoderInput::truncated(std::string_view format, const std::string& detail) const {
  fail(fmt::format("expected a complete {} image, found a truncated one: {}. Copy or download it again", format,
                   detail));
}

void DecoderInput::damaged(std::string_view format, std::string_view reason) const {
  fail(fmt::format("expected a valid {} image, found damaged data ({}). Copy or save it again", format,
                   quote_name(reason)));
}

void DecoderInput::animated(std::string_view format, std::size_t frames) const {
  const std::string count =
      frames == 0 ? std::string("an animation") : fmt::format("an animation of {} frames", frames);
  fail(fmt::format("expected a single {} image, found {}; save one frame as an image", format, count));
}

void DecoderInput::check_size(std::string_view format, std::uint64_t width, std::uint64_t height) const {
  if (width == 0 || height == 0)
    fail(fmt::format("expected an image of at least 1 x 1 pixel, found a {} of {} x {}", format, width, height));
  const auto pixels = checked_multiply(width, height);
  if (!pixels || *pixels > options.max_pixels || !checked_multiply(*pixels, 8)) {
    fail(
        fmt::format("expected at most {} pixels, found a {} whose header says {} x {}; make it smaller, or raise the "
                    "limit if you trust the file (--max-megapixels N, in units of 2^20 pixels)",
                    options.max_pixels, format, width, height));
  }
}

namespace {

// c' = round((c a + 255 (255 - a)) / 255).
unsigned over_white(unsigned value, unsigned alpha) { return (value * alpha + 255U * (255U - alpha) + 127U) / 255U; }

}  // namespace
}  // namespace internal

Picture decode_picture(std::span<const std::byte> bytes, const std::string& source, const PictureOptions& options) {
  const internal::DecoderInput input{bytes, source, options};
  internal::DecodedPicture decoded;
  if (internal::has_text(bytes, 0, "\x89PNG\r\n\x1a\n")) {
    decoded = internal::decode_png(input);
  } else if (internal::has_text(bytes, 0, "\xFF\xD8\xFF")) {
    decoded = internal::decode_jpeg(input);
  } else if (internal::has_text(bytes, 0, "RIFF") && internal::has_text(bytes, 8, "WEBP")) {
    decoded = internal::decode_webp(input);
  } else {
    input.fail(fmt::format("expected a PNG, JPEG or WebP image, found {}; save the image in one of these formats",
                           internal::describe_bytes(bytes)));
  }
  if (decoded.channels == 4) internal::mix_in_fourth(decoded.samples, internal::over_white);
  Tensor<std::uint8_t> rgb({decoded.height, decoded.width, 3}, std::move(decoded.samples));
  return {internal::turn_upright(std::move(rgb), decoded.origin.orientation), std::move(decoded.origin)};
}

Picture read_picture(const std::filesystem::path& path, const PictureOptions& options) {
  constexpr std::size_t kMaxFileBytes = std::size_t{512} << 20;
  const std::string content = read_file(path, kMaxFileBytes);
  return decode_picture(std::as_bytes(std::span(content)), path.string(), options);
}

}  // namespace attnflow
