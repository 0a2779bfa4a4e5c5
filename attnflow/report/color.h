// Colors of figures and terminals.
#pragma once

#include <cstdint>

namespace attnflow::internal {

struct Color {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  friend bool operator==(const Color&, const Color&) = default;
};

constexpr Color color_of(std::uint32_t rgb) {
  const auto channel = [rgb](int shift) { return static_cast<std::uint8_t>((rgb >> shift) & 0xffU); };
  return {channel(16), channel(8), channel(0)};
}

inline constexpr Color kBlack{0x1a, 0x1a, 0x1a};
inline constexpr Color kGrey{0x66, 0x66, 0x66};
inline constexpr Color kLightGrey{0xd0, 0xd0, 0xd0};
inline constexpr Color kWhite{0xff, 0xff, 0xff};

}  // namespace attnflow::internal
