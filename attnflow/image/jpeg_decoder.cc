// jpeglib.h uses FILE and size_t without including their declarations.
#include <cstddef>
#include <cstdio>
// after the two above
#include <jpeglib.h>
// after jpeglib.h
#include <jerror.h>

#include <algorithm>
#include <csetjmp>
#include <optional>

#include "attnflow/image/picture_decoder.h"

namespace attnflow::internal {
namespace {

// A scan of a few bytes can make the decoder walk over the whole picture. Encoders write about ten.
constexpr int kMaxScans = 100;

enum class JpegFailure { kDamaged, kTruncated, kTooManyScans };

// All state that the library's functions touch; outlives every jump. The library finds it through client_data, from its
// pointers to `errors` and `progress`.
struct JpegReader {
  JpegReader() = default;
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() {
    if (created) jpeg_destroy_decompress(&info);
  }

  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  bool created = false;
  std::jmp_buf jump = {};
  JpegFailure failure = JpegFailure::kDamaged;
  char message[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void leave(j_common_ptr info, JpegFailure failure) {
  auto* const reader = static_cast<JpegReader*>(info->client_data);
  reader->failure = failure;
  info->err->format_message(info, reader->message);
  std::longjmp(reader->jump, 1);  // NOLINT(cert-err52-cpp): libjpeg requires it; see picture_decoder.h
}

extern "C" {

[[noreturn]] static void attnflow_jpeg_error(j_common_ptr info) { leave(info, JpegFailure::kDamaged); }

// After these warnings libjpeg makes up samples. The others (extraneous bytes, unusual versions) change no sample.
static void attnflow_jpeg_message(j_common_ptr info, int level) {
  if (level >= 0) return;
  switch (info->err->msg_code) {
    case JWRN_JPEG_EOF:
      leave(info, JpegFailure::kTruncated);
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
      leave(info, JpegFailure::kDamaged);
    default:
      return;
  }
}

static void attnflow_jpeg_progress(j_common_ptr info) {
  const auto* const decoder = reinterpret_cast<j_decompress_ptr>(info);
  if (decoder->input_scan_number > kMaxScans) leave(info, JpegFailure::kTooManyScans);
}

}  // extern "C"

bool read_header(JpegReader& reader, std::span<const std::byte> bytes) {
  jpeg_decompress_struct& info = reader.info;
  info.err = jpeg_std_error(&reader.errors);
  reader.errors.error_exit = attnflow_jpeg_error;
  reader.errors.emit_message = attnflow_jpeg_message;
  info.client_data = &reader;                  // kept by jpeg_create_decompress
  if (setjmp(reader.jump) != 0) return false;  // NOLINT(cert-err52-cpp)
  jpeg_create_decompress(&info);
  reader.created = true;
  reader.progress.progress_monitor = attnflow_jpeg_progress;
  info.progress = &reader.progress;
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_save_markers(&info, JPEG_APP0 + 1, 0xFFFF);
  jpeg_read_header(&info, TRUE);
  return true;
}

void read_jpeg_rows(jpeg_decompress_struct& info, std::uint8_t* out, std::size_t row_bytes) {
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = out + info.output_scanline * row_bytes;
    jpeg_read_scanlines(&info, &row, 1);
  }
}

bool read_samples(JpegReader& reader, std::uint8_t* out, std::size_t row_bytes) {
  if (setjmp(reader.jump) != 0) return false;  // NOLINT(cert-err52-cpp)
  jpeg_start_decompress(&reader.info);
  read_jpeg_rows(reader.info, out, row_bytes);
  jpeg_finish_decompress(&reader.info);
  return true;
}

[[noreturn]] void fail_jpeg(const DecoderInput& input, const JpegReader& reader) {
  switch (reader.failure) {
    case JpegFailure::kTruncated:
      input.truncated("JPEG", "its data ends before its end mark");
    case JpegFailure::kTooManyScans:
      input.fail("expected a JPEG image with at most 100 scans, found more; save it again");
    case JpegFailure::kDamaged:
      break;
  }
  input.damaged("JPEG", reader.message);
}

int orientation_of(const jpeg_decompress_struct& info) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  for (const jpeg_marker_struct* marker = info.marker_list; marker != nullptr; marker = marker->next) {
    const std::span data(reinterpret_cast<const std::byte*>(marker->data), marker->data_length);
    if (has_text(data, 0, kExif)) return exif_orientation(data.subspan(kExif.size()));
  }
  return 1;
}

// The name of the stored color space, and the one requested from libjpeg.
struct JpegColor {
  const char* mode;
  J_COLOR_SPACE out;
};

std::optional<JpegColor> color_of(const jpeg_decompress_struct& info) {
  switch (info.jpeg_color_space) {
    case JCS_GRAYSCALE:
      return JpegColor{"grey", JCS_RGB};
    case JCS_YCbCr:
    case JCS_RGB:
      return JpegColor{"RGB", JCS_RGB};
    case JCS_CMYK:
      return JpegColor{"CMYK", JCS_CMYK};
    case JCS_YCCK:
      return JpegColor{"YCCK", JCS_CMYK};
    default:
      return std::nullopt;
  }
}

// The stored values are 255 - ink, so k is the light that black leaves: c' = k - round((255 - c) k / 255).
unsigned rgb_of_cmyk(unsigned value, unsigned light) { return light - ((255U - value) * light + 127U) / 255U; }

}  // namespace

DecodedPicture decode_jpeg(const DecoderInput& input) {
  JpegReader reader;
  if (!read_header(reader, input.bytes)) fail_jpeg(input, reader);
  jpeg_decompress_struct& info = reader.info;
  input.check_size("JPEG", info.image_width, info.image_height);
  const std::optional<JpegColor> color = color_of(info);
  if (!color) {
    input.fail("expected a JPEG in grayscale, RGB, YCbCr, CMYK or YCCK, found another color space; save it as RGB");
  }
  info.out_color_space = color->out;
  const std::size_t channels = color->out == JCS_CMYK ? 4 : 3;

  DecodedPicture picture;
  picture.width = info.image_width;
  picture.height = info.image_height;
  picture.origin = {PictureFormat::kJpeg, color->mode, orientation_of(info)};
  picture.samples.resize(picture.height * picture.width * channels);
  if (!read_samples(reader, picture.samples.data(), picture.width * channels)) fail_jpeg(input, reader);
  if (channels == 4) mix_in_fourth(picture.samples, rgb_of_cmyk);
  return picture;
}

}  // namespace attnflow::internal
