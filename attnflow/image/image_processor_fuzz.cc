#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attnflow/base/error.h"
#include "attnflow/image/image_processor.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::size_t channels : {std::size_t{1}, std::size_t{3}}) {
    try {
      const attnflow::ImageProcessor processor =
          attnflow::read_image_processor(text, "fuzz.json", {.channels = channels, .model_type = "vit"});
      if (processor.channels != channels) __builtin_trap();
      if (processor.do_normalize && (processor.image_mean.size() != channels || processor.image_std.size() != channels))
        __builtin_trap();
    } catch (const attnflow::Error&) {
    }
  }
  return 0;
}
