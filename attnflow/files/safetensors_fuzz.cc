#include <cstddef>
#include <cstdint>
#include <span>

#include "attnflow/base/error.h"
#include "attnflow/files/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const attnflow::SafetensorsFile content(file, "fuzz.safetensors");
    std::size_t total = 0;
    for (const auto& [name, entry] : content.entries()) {
      if (entry.bytes.data() < file.data() || entry.bytes.data() + entry.bytes.size() > file.data() + file.size())
        __builtin_trap();
      if (entry.bytes.size() != attnflow::element_count(entry.shape) * attnflow::dtype_size(entry.dtype))
        __builtin_trap();
      total += entry.bytes.size();
    }
    if (total > file.size()) __builtin_trap();  // no byte belongs to two tensors
  } catch (const attnflow::Error&) {
  }
  return 0;
}
