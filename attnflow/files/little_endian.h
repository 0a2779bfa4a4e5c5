// Numbers as stored in files: little-endian, unaligned.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace attnflow::internal {

// Returns the unsigned number at `at`; all of its bytes must lie within `bytes`.
template <typename T>
T little_endian(std::span<const std::byte> bytes, std::size_t at) {
  assert(bytes.size() >= sizeof(T) && at <= bytes.size() - sizeof(T));
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) number |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
  return static_cast<T>(number);
}

}  // namespace attnflow::internal
