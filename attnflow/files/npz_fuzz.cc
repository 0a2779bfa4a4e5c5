#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/files/npz_format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  attnflow::ReadLimits limits{.max_bytes = std::size_t{1} << 22};
  try {
    std::size_t count = 0;
    for (const std::string& key : attnflow::internal::list_npz(bytes, "fuzz.npz")) {
      if (++count > 8) break;
      try {
        const attnflow::Array array = attnflow::internal::parse_npz(bytes, "fuzz.npz", key, limits);
        if (array.bytes.size() > limits.max_bytes) __builtin_trap();
      } catch (const attnflow::Error&) {
      }
    }
  } catch (const attnflow::Error&) {
  }
  return 0;
}
