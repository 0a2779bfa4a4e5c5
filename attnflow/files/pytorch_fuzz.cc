// Fuzz target: parses arbitrary bytes as a file written by torch.save. Built by ./dev fuzz.
#include <cstddef>
#include <cstdint>
#include <span>

#include "attnflow/base/error.h"
#include "attnflow/files/pytorch_parse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const attnflow::internal::PytorchContent content = attnflow::internal::parse_pytorch(file, "fuzz.bin");
    std::size_t copied = 0;
    for (const auto& copy : content.copies) copied += copy.size();
    if (copied > size) __builtin_trap();
    for (const auto& [name, entry] : content.entries) {
      if (entry.bytes.size() != attnflow::element_count(entry.shape) * attnflow::dtype_size(entry.dtype))
        __builtin_trap();
      bool inside = entry.bytes.empty();
      const auto is_in = [bytes = std::span(entry.bytes)](std::span<const std::byte> all) {
        return bytes.data() >= all.data() && bytes.data() + bytes.size() <= all.data() + all.size();
      };
      inside = inside || is_in(file);
      for (const auto& copy : content.copies) inside = inside || is_in(copy);
      if (!inside) __builtin_trap();
    }
  } catch (const attnflow::Error&) {
  }
  return 0;
}
