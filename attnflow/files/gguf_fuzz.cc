#include <cstddef>
#include <cstdint>
#include <span>

#include "attnflow/base/error.h"
#include "attnflow/files/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const attnflow::internal::GgufHeader header =
        attnflow::internal::parse_gguf(file, "fuzz.gguf", attnflow::internal::GgufArrays::kWhole);
    for (const attnflow::internal::GgufTensor& tensor : header.tensors) {
      const std::size_t bytes = tensor.bytes.value_or(0);
      if (header.data_begin + tensor.offset + bytes > size &&
          header.data_begin + tensor.offset + bytes > header.data_begin)
        __builtin_trap();
    }
  } catch (const attnflow::Error&) {
  }
  return 0;
}
