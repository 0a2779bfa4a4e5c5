#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "attnflow/base/error.h"
#include "attnflow/files/pytorch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const attnflow::PytorchFile content(file, "fuzz.bin");
    std::map<const std::byte*, std::size_t> copies;
    std::size_t sum = 0;
    for (const auto& [name, entry] : content.entries()) {
      if (entry.bytes.size() != attnflow::element_count(entry.shape) * attnflow::dtype_size(entry.dtype))
        __builtin_trap();
      for (const std::byte byte : entry.bytes) sum += std::to_integer<std::size_t>(byte);  // AddressSanitizer looks
      const bool inside = entry.bytes.data() >= file.data() && entry.bytes.data() < file.data() + file.size();
      if (!inside) copies[entry.bytes.data()] = entry.bytes.size();
    }
    std::size_t copied = 0;
    for (const auto& [data, bytes] : copies) copied += bytes;
    if (copied > size || sum > 255 * content.entries().size() * size) __builtin_trap();
  } catch (const attnflow::Error&) {
  }
  return 0;
}
