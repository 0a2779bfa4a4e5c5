#include "attnflow/files/utf8.h"

#include <cstdint>

namespace attnflow::internal {

std::optional<char32_t> next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::size_t start = at++;
  const std::uint8_t lead = byte(start);
  if (lead < 0x80) return lead;
  // Length by the lead byte, and the least code point that needs that length (smaller ones are overlong).
  std::size_t length = 0;
  char32_t least = 0;
  char32_t c = 0;
  if ((lead & 0xE0) == 0xC0) {
    length = 2, least = 0x80, c = lead & 0x1FU;
  } else if ((lead & 0xF0) == 0xE0) {
    length = 3, least = 0x800, c = lead & 0x0FU;
  } else if ((lead & 0xF8) == 0xF0) {
    length = 4, least = 0x10000, c = lead & 0x07U;
  } else {
    return std::nullopt;
  }
  if (text.size() - start < length) return std::nullopt;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(start + i) & 0xC0) != 0x80) return std::nullopt;
    c = (c << 6) | (byte(start + i) & 0x3FU);
  }
  if (c < least || !is_scalar_value(c)) return std::nullopt;
  at = start + length;
  return c;
}

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](char32_t bits) { text.push_back(static_cast<char>(static_cast<std::uint8_t>(bits))); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | (c >> 6));
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | (c >> 12));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | (c >> 18));
    put(0x80 | ((c >> 12) & 0x3F));
    put(0x80 | ((c >> 6) & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string points;
  for (std::size_t at = 0; at < text.size();)
    points.push_back(next_code_point(text, at).value_or(kReplacementCharacter));
  return points;
}

}  // namespace attnflow::internal
