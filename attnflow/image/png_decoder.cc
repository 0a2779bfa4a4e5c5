#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "attnflow/image/picture_decoder.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kSignatureBytes = 8;

// Information from the chunks, read before libpng sees them: verified sizes, and what libpng does not know.
struct PngLayout {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t bits = 0;
  std::uint32_t color_type = 0;
  std::span<const std::byte> exif;
  bool transparent = false;  // tRNS: a transparent color, or alpha for the palette
};

PngLayout read_layout(const DecoderInput& input) {
  constexpr std::size_t kHeaderBytes = 13;
  constexpr std::size_t kChunkBytes = 12;  // length, type and checksum
  PngLayout layout;
  const std::span<const std::byte> bytes = input.bytes;
  bool seen_header = false;
  for (std::size_t at = kSignatureBytes;;) {
    if (bytes.size() - at < kChunkBytes) {
      input.truncated("PNG", fmt::format("its end mark (IEND) is missing from its {} bytes", bytes.size()));
    }
    const std::size_t length = big_u32(bytes, at);
    if (length > bytes.size() - at - kChunkBytes) {
      input.truncated("PNG", fmt::format("the chunk at byte {} has {} bytes, of which only {} are present", at, length,
                                         bytes.size() - at - kChunkBytes));
    }
    const std::span<const std::byte> data = bytes.subspan(at + 8, length);
    if (!seen_header) {
      if (!has_text(bytes, at + 4, "IHDR") || length != kHeaderBytes) {
        input.damaged("PNG", "its first chunk is not a header (IHDR)");
      }
      layout.width = big_u32(data, 0);
      layout.height = big_u32(data, 4);
      layout.bits = byte_at(data, 8);
      layout.color_type = byte_at(data, 9);
      seen_header = true;
    } else if (has_text(bytes, at + 4, "acTL") && length >= 4 && big_u32(data, 0) > 1) {
      input.animated("PNG", big_u32(data, 0));
    } else if (has_text(bytes, at + 4, "eXIf")) {
      layout.exif = data;
    } else if (has_text(bytes, at + 4, "tRNS")) {
      layout.transparent = true;
    } else if (has_text(bytes, at + 4, "IEND")) {
      return layout;
    }
    at += kChunkBytes + length;
  }
}

std::string describe_mode(const PngLayout& layout) {
  std::string mode = (layout.color_type & PNG_COLOR_MASK_PALETTE) != 0 ? "palette"
                     : (layout.color_type & PNG_COLOR_MASK_COLOR) != 0 ? "RGB"
                                                                       : "grey";
  if (layout.bits != 8) mode += fmt::format(" {}-bit", layout.bits);
  if ((layout.color_type & PNG_COLOR_MASK_ALPHA) != 0 || layout.transparent) mode += " with alpha";
  return mode;
}

struct PngReader {
  explicit PngReader(std::span<const std::byte> all) : bytes(all) {}
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }

  std::span<const std::byte> bytes;
  std::size_t position = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump = {};
  char message[128] = "";
  int passes = 1;
};

extern "C" {

[[noreturn]] static void attnflow_png_error(png_structp png, png_const_charp message) {
  auto* const reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(reader->message, sizeof reader->message, "%s", message);
  std::longjmp(reader->jump, 1);  // NOLINT(cert-err52-cpp): libpng requires it; see picture_decoder.h
}

static void attnflow_png_warning(png_structp, png_const_charp) {}

static void attnflow_png_read(png_structp png, png_bytep out, png_size_t count) {
  auto* const reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > reader->bytes.size() - reader->position) png_error(png, "it ends early");
  std::memcpy(out, reader->bytes.data() + reader->position, count);
  reader->position += count;
}

}  // extern "C"

// Reads up to the first row: 8 bits per sample, RGB or RGBA. Returns false after an error, given in reader.message.
bool start(PngReader& reader) {
  if (setjmp(reader.jump) != 0) return false;  // NOLINT(cert-err52-cpp)
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, attnflow_png_error, attnflow_png_warning);
  if (reader.png == nullptr) return false;
  reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) return false;
  // Chunks that are not needed (text, profiles, times) are not even unpacked.
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  // The size has been checked against the limit in the options.
  png_set_user_limits(reader.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_read_fn(reader.png, &reader, attnflow_png_read);
  png_read_info(reader.png, reader.info);
  png_set_expand(reader.png);  // palettes, 1 to 4 bits, transparent colors
  png_set_strip_16(reader.png);
  png_set_gray_to_rgb(reader.png);
  reader.passes = png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

void read_png_rows(PngReader& reader, std::uint8_t* out, std::size_t height, std::size_t row_bytes) {
  for (int pass = 0; pass < reader.passes; ++pass) {
    for (std::size_t y = 0; y < height; ++y) png_read_row(reader.png, out + y * row_bytes, nullptr);
  }
  png_read_end(reader.png, nullptr);
}

bool finish(PngReader& reader, std::uint8_t* out, std::size_t height, std::size_t row_bytes) {
  if (setjmp(reader.jump) != 0) return false;  // NOLINT(cert-err52-cpp)
  read_png_rows(reader, out, height, row_bytes);
  return true;
}

}  // namespace

DecodedPicture decode_png(const DecoderInput& input) {
  const PngLayout layout = read_layout(input);
  input.check_size("PNG", layout.width, layout.height);

  PngReader reader(input.bytes);
  if (!start(reader)) input.damaged("PNG", reader.message);
  DecodedPicture picture;
  picture.width = layout.width;
  picture.height = layout.height;
  picture.channels = png_get_channels(reader.png, reader.info);
  picture.origin = {PictureFormat::kPng, describe_mode(layout), exif_orientation(layout.exif)};
  const std::size_t row_bytes = picture.width * picture.channels;
  const bool as_expected = (picture.channels == 3 || picture.channels == 4) &&
                           png_get_image_width(reader.png, reader.info) == layout.width &&
                           png_get_image_height(reader.png, reader.info) == layout.height &&
                           png_get_rowbytes(reader.png, reader.info) == row_bytes;
  if (!as_expected) input.damaged("PNG", "its headers contradict each other");
  picture.samples.resize(picture.height * row_bytes);
  if (!finish(reader, picture.samples.data(), picture.height, row_bytes)) input.damaged("PNG", reader.message);
  return picture;
}

}  // namespace attnflow::internal
