#include "attnflow/base/base64.h"

#include <array>
#include <cstdint>

namespace attnflow {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kInvalid = 0xff;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kInvalid);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

constexpr std::array<std::uint8_t, 256> kValues = make_values();

}  // namespace

void base64_append(std::string& out, std::span<const std::byte> bytes) {
  const std::size_t start = out.size();
  out.resize(start + base64_size(bytes.size()));
  char* target = out.data() + start;
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const std::uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    *target++ = kAlphabet[group >> 18];
    *target++ = kAlphabet[group >> 12 & 63];
    *target++ = kAlphabet[group >> 6 & 63];
    *target++ = kAlphabet[group & 63];
  }
  const std::size_t rest = bytes.size() - i;
  if (rest == 0) return;
  const std::uint32_t group = byte(i) << 16 | (rest == 2 ? byte(i + 1) << 8 : 0);
  *target++ = kAlphabet[group >> 18];
  *target++ = kAlphabet[group >> 12 & 63];
  *target++ = rest == 2 ? kAlphabet[group >> 6 & 63] : '=';
  *target++ = '=';
}

bool base64_decode(std::string_view code, std::span<std::byte> out) {
  if (out.size() > code.size() || code.size() != base64_size(out.size())) return false;
  const auto value = [&](std::size_t i) { return kValues[static_cast<unsigned char>(code[i])]; };
  const std::size_t whole = out.size() / 3;
  for (std::size_t g = 0; g < whole; ++g) {
    const std::uint8_t a = value(4 * g), b = value(4 * g + 1), c = value(4 * g + 2), d = value(4 * g + 3);
    // Valid values are below 64, so the OR of all four has a high bit only if one of them is kInvalid.
    if (((a | b | c | d) & 0xc0) != 0) return false;
    const std::uint32_t group = static_cast<std::uint32_t>(a) << 18 | static_cast<std::uint32_t>(b) << 12 |
                                static_cast<std::uint32_t>(c) << 6 | d;
    out[3 * g] = static_cast<std::byte>(group >> 16);
    out[3 * g + 1] = static_cast<std::byte>(group >> 8 & 0xff);
    out[3 * g + 2] = static_cast<std::byte>(group & 0xff);
  }
  const std::size_t rest = out.size() - 3 * whole;
  if (rest == 0) return true;
  const std::size_t tail = 4 * whole;
  const std::uint8_t a = value(tail), b = value(tail + 1);
  const std::uint8_t c = rest == 2 ? value(tail + 2) : 0;
  if (((a | b | c) & 0xc0) != 0 || code[tail + 3] != '=' || (rest == 1 && code[tail + 2] != '=')) return false;
  const std::uint32_t group =
      static_cast<std::uint32_t>(a) << 18 | static_cast<std::uint32_t>(b) << 12 | static_cast<std::uint32_t>(c) << 6;
  out[3 * whole] = static_cast<std::byte>(group >> 16);
  if (rest == 2) out[3 * whole + 1] = static_cast<std::byte>(group >> 8 & 0xff);
  return (group & (rest == 1 ? 0xffffU : 0xffU)) == 0;
}

}  // namespace attnflow
