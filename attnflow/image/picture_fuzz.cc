#include <cstddef>
#include <cstdint>
#include <span>

#include "attnflow/base/error.h"
#include "attnflow/image/picture.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  attnflow::PictureOptions options{.max_pixels = std::size_t{1} << 18};
  try {
    const attnflow::Picture picture = attnflow::decode_picture(std::as_bytes(std::span(data, size)), "fuzz", options);
    if (picture.width() == 0 || picture.height() == 0) __builtin_trap();
    if (picture.rgb.size() != picture.width() * picture.height() * 3) __builtin_trap();
    if (picture.width() * picture.height() > options.max_pixels) __builtin_trap();
    if (picture.origin.orientation < 1 || picture.origin.orientation > 8) __builtin_trap();
  } catch (const attnflow::Error&) {
  }
  return 0;
}
