// Overflow checks for sizes from untrusted sources, before they are multiplied.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>

namespace attnflow {

constexpr std::optional<std::size_t> checked_multiply(std::size_t a, std::size_t b) {
  if (a != 0 && b > std::numeric_limits<std::size_t>::max() / a) return std::nullopt;
  return a * b;
}

// Returns the product of all extents (1 for none), or nothing on overflow, even if another extent is 0: a hostile shape
// such as [0, 2^63, 2^63] is rejected rather than treated as empty.
constexpr std::optional<std::size_t> checked_product(std::span<const std::size_t> extents) {
  std::size_t product = 1;
  bool empty = false;
  for (std::size_t extent : extents) {
    if (extent == 0) {
      empty = true;
      continue;
    }
    const std::optional<std::size_t> next = checked_multiply(product, extent);
    if (!next) return std::nullopt;
    product = *next;
  }
  return empty ? 0 : product;
}

}  // namespace attnflow
