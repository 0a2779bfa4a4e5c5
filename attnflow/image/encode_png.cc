#include "attnflow/image/encode_png.h"

#include <png.h>

#include <cassert>
#include <csetjmp>
#include <cstdio>
#include <new>

#include "attnflow/base/fail.h"

namespace attnflow {
namespace {

// All state that libpng's functions touch; outlives every jump (see picture_decoder.h).
struct PngWriter {
  PngWriter() = default;
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;
  ~PngWriter() { png_destroy_write_struct(&png, &info); }

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump = {};
  char message[128] = "out of memory";
  std::string bytes;
};

extern "C" {

[[noreturn]] static void attnflow_png_write_error(png_structp png, png_const_charp message) {
  auto* const writer = static_cast<PngWriter*>(png_get_error_ptr(png));
  std::snprintf(writer->message, sizeof writer->message, "%s", message);
  std::longjmp(writer->jump, 1);  // NOLINT(cert-err52-cpp): libpng requires it
}

static void attnflow_png_write_warning(png_structp, png_const_charp) {}

static void attnflow_png_write(png_structp png, png_bytep data, png_size_t count) {
  auto* const writer = static_cast<PngWriter*>(png_get_io_ptr(png));
  bool written = true;
  try {
    writer->bytes.append(reinterpret_cast<const char*>(data), count);
  } catch (const std::bad_alloc&) {
    written = false;  // no exception may pass through C
  }
  if (!written) png_error(png, "out of memory");
}

static void attnflow_png_flush(png_structp) {}

}  // extern "C"

void write_rows(png_structp png, const Picture& picture) {
  const std::size_t row_bytes = picture.width() * 3;
  for (std::size_t y = 0; y < picture.height(); ++y) png_write_row(png, picture.rgb.data() + y * row_bytes);
}

bool write(PngWriter& writer, const Picture& picture) {
  constexpr int kCompression = 9;
  if (setjmp(writer.jump) != 0) return false;  // NOLINT(cert-err52-cpp)
  writer.png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, &writer, attnflow_png_write_error, attnflow_png_write_warning);
  if (writer.png == nullptr) return false;
  writer.info = png_create_info_struct(writer.png);
  if (writer.info == nullptr) return false;
  png_set_write_fn(writer.png, &writer, attnflow_png_write, attnflow_png_flush);
  png_set_IHDR(writer.png, writer.info, static_cast<png_uint_32>(picture.width()),
               static_cast<png_uint_32>(picture.height()), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(writer.png, kCompression);
  png_set_filter(writer.png, PNG_FILTER_TYPE_BASE, PNG_ALL_FILTERS);
  png_write_info(writer.png, writer.info);
  write_rows(writer.png, picture);
  png_write_end(writer.png, nullptr);
  return true;
}

}  // namespace

std::string encode_png(const Picture& picture) {
  constexpr std::size_t kMaxSide = 1000000;
  assert(picture.rgb.rank() == 3 && !picture.rgb.empty());
  if (picture.width() > kMaxSide || picture.height() > kMaxSide) {
    fail_with(ErrorKind::kOther, "expected an image of at most {} pixels per side to write as PNG, found {} x {}",
              kMaxSide, picture.width(), picture.height());
  }
  PngWriter writer;
  if (!write(writer, picture)) {
    fail_with(ErrorKind::kOther, "an image of {} x {} pixels could not be written as PNG: {}", picture.width(),
              picture.height(), writer.message);
  }
  return std::move(writer.bytes);
}

}  // namespace attnflow
