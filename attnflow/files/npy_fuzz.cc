#include <cstddef>
#include <cstdint>
#include <span>

#include "attnflow/base/error.h"
#include "attnflow/files/npy_format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto source = attnflow::internal::memory_source(std::as_bytes(std::span(data, size)));
  attnflow::ReadLimits limits{.max_bytes = std::size_t{1} << 24};
  try {
    const attnflow::Array array = attnflow::internal::parse_npy(source, "fuzz.npy", limits);
    if (array.bytes.size() > limits.max_bytes) __builtin_trap();
    // An array that was read can be written and read again.
    const attnflow::internal::NpyBytes bytes = attnflow::internal::serialize_npy(array);
    if (array.dtype != attnflow::DType::kUnicode) (void)array.to_double("fuzz");
    if (bytes.header.size() % 64 != 0) __builtin_trap();
  } catch (const attnflow::Error&) {
  }
  return 0;
}
