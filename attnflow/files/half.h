// The two 16-bit float formats of model files, as float32. Both conversions are exact.
#ifndef ATTNFLOW_FILES_HALF_H_
#define ATTNFLOW_FILES_HALF_H_

#include <bit>
#include <cmath>
#include <cstdint>

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

// bfloat16 is the upper half of a float32.
inline float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace attnflow

#endif  // ATTNFLOW_FILES_HALF_H_
