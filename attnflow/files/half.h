// The 16-bit float formats of model files: exact conversion to float32, and rounding to binary16.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace attnflow {

// IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits. NaNs keep their sign and payload.
inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | (fraction << 13));  // infinity or NaN
  if (exponent == 0) {  // zero or subnormal: fraction / 2^24
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));  // bias 15 -> 127
}

// Returns the binary16 number nearest to a float or double, rounded once, with ties to even (IEEE 754, 4.3.1)
// regardless of the processor's rounding mode. Magnitudes of 65520 = (2 - 2^-11) 2^15 or more become infinity, and
// those up to 2^-25 become zero, keeping the sign. A NaN keeps its sign and the upper ten bits of its payload, or
// becomes quiet if these are all zero. float_to_half(half_to_float(h)) == h for every h.
template <std::floating_point Float>
std::uint16_t float_to_half(Float value) {
  static_assert(std::numeric_limits<Float>::is_iec559 && sizeof(Float) <= 8, "binary32 or binary64");
  using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  constexpr int kFractionBits = std::numeric_limits<Float>::digits - 1;
  constexpr int kBias = std::numeric_limits<Float>::max_exponent - 1;
  constexpr Bits kImplicitOne = Bits{1} << kFractionBits;

  const auto bits = std::bit_cast<Bits>(value);
  const Bits magnitude = bits & (std::numeric_limits<Bits>::max() >> 1);
  const Bits sign = (bits >> (8 * sizeof(Bits) - 16)) & 0x8000U;
  const auto with_sign = [sign](Bits half) { return static_cast<std::uint16_t>(sign | half); };
  if (magnitude > std::bit_cast<Bits>(std::numeric_limits<Float>::infinity())) {
    const Bits payload = (magnitude >> (kFractionBits - 10)) & 0x3FFU;
    return with_sign(0x7C00U | (payload == 0 ? 0x200U : payload));
  }
  if (magnitude >= std::bit_cast<Bits>(Float{65520})) return with_sign(0x7C00U);
  if (magnitude < std::bit_cast<Bits>(Float{0x1p-25F})) return with_sign(0U);  // nearer to zero than to 2^-24

  // `kept` holds the result's bits; the `dropped` lowest bits of `from` decide the rounding. A carry out of the
  // fraction correctly increments the exponent.
  Bits from = magnitude - (Bits{kBias - 15} << kFractionBits);
  int dropped = kFractionBits - 10;
  if (magnitude < std::bit_cast<Bits>(Float{0x1p-14F})) {  // subnormal, in units of 2^-24
    from = (magnitude & (kImplicitOne - 1U)) | kImplicitOne;
    dropped = kFractionBits + kBias - 24 - static_cast<int>(magnitude >> kFractionBits);
  }
  const Bits kept = from >> dropped;
  const Bits rest = from & ((Bits{1} << dropped) - 1U);
  const Bits tie = Bits{1} << (dropped - 1);
  const bool up = rest > tie || (rest == tie && (kept & 1U) != 0);
  return with_sign(kept + (up ? 1U : 0U));
}

// bfloat16 is the upper half of a float32.
inline float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace attnflow
