#include "attnflow/model/gguf_blocks.h"

#include <array>
#include <cstring>

#include "attnflow/files/half.h"

// The loops below are plain: compiled once for each kind of processor, they become its vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnflow/model/gguf_blocks.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attnflow::internal {
namespace HWY_NAMESPACE {

constexpr std::uint32_t kQ5 = 6;
constexpr std::uint32_t kQ6 = 14;

HWY_INLINE float scale_at(const std::byte* place) {
  std::uint16_t half = 0;
  std::memcpy(&half, place, sizeof(half));
  return half_to_float(half);
}

HWY_INLINE float times(float scale, int number) { return scale * static_cast<float>(number); }

// Byte b of entry i is 16 if bit b of i is set.
constexpr std::array<std::uint64_t, 256> kFifthBits = [] {
  std::array<std::uint64_t, 256> table = {};
  for (std::uint64_t i = 0; i < table.size(); ++i) {
    for (std::uint64_t bit = 0; bit < 8; ++bit) table[i] |= (i >> bit & 1U) << (8 * bit + 4);
  }
  return table;
}();

// Copies are local, so that the compiler sees that nothing overlaps.
HWY_INLINE void dequantise_q5(const std::byte* block, float* value) {
  constexpr std::size_t kHalf = 16;
  std::array<std::uint8_t, 2 * kHalf> fifth;
  for (std::size_t b = 0; b < 4; ++b) {
    std::memcpy(fifth.data() + 8 * b, &kFifthBits[std::to_integer<std::uint8_t>(block[2 + b])], 8);
  }
  std::array<std::uint8_t, kHalf> pairs;
  std::memcpy(pairs.data(), block + 6, pairs.size());
  const float d = scale_at(block);
  for (std::size_t j = 0; j < kHalf; ++j) value[j] = times(d, ((pairs[j] & 15) | fifth[j]) - 16);
  for (std::size_t j = 0; j < kHalf; ++j) value[kHalf + j] = times(d, ((pairs[j] >> 4) | fifth[kHalf + j]) - 16);
}

HWY_INLINE void dequantise_q6(const std::byte* block, float* value) {
  constexpr std::size_t kGroup = 16;  // numbers with one scale
  std::array<std::uint8_t, 128> lower;
  std::array<std::uint8_t, 64> upper;
  std::array<std::int8_t, 16> scales;
  std::memcpy(lower.data(), block, lower.size());
  std::memcpy(upper.data(), block + 128, upper.size());
  std::memcpy(scales.data(), block + 192, scales.size());
  const float d = scale_at(block + 208);
  for (std::size_t group = 0; group < scales.size(); ++group) {
    // In each 128 numbers, a byte of `upper` holds two bits of four of them, and a byte of `lower` four bits of two.
    const std::size_t of_128 = group / 8;
    const std::size_t quarter = group % 8 / 2;
    const std::size_t side = group % 2 * kGroup;
    const std::uint8_t* const low = lower.data() + 64 * of_128 + quarter % 2 * 32 + side;
    const std::uint8_t* const high = upper.data() + 32 * of_128 + side;
    const float scale = times(d, scales[group]);
    const int low_shift = quarter < 2 ? 0 : 4;
    const int high_shift = 2 * static_cast<int>(quarter);
    float* const to = value + group * kGroup;
    for (std::size_t j = 0; j < kGroup; ++j) {
      to[j] = times(scale, (((low[j] >> low_shift) & 15) | ((high[j] >> high_shift & 3) << 4)) - 32);
    }
  }
}

template <std::size_t kNumbers, std::size_t kBytes, typename Dequantise>
HWY_INLINE void each_block(std::span<const std::byte> blocks, std::span<float> values, const Dequantise& dequantise) {
  const std::byte* block = blocks.data();
  for (std::size_t i = 0; i + kNumbers <= values.size(); i += kNumbers, block += kBytes) {
    dequantise(block, values.data() + i);
  }
}

bool dequantise(std::uint32_t type, std::span<const std::byte> blocks, std::span<float> values) {
  if (type == kQ5) {
    each_block<32, 22>(blocks, values, dequantise_q5);
  } else if (type == kQ6) {
    each_block<256, 210>(blocks, values, dequantise_q6);
  } else {
    return false;
  }
  return true;
}

}  // namespace HWY_NAMESPACE
}  // namespace attnflow::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnflow::internal {
namespace {

HWY_EXPORT(dequantise);

}  // namespace

bool dequantise_blocks(std::uint32_t type, std::span<const std::byte> blocks, std::span<float> values) {
  return HWY_DYNAMIC_DISPATCH(dequantise)(type, blocks, values);
}

}  // namespace attnflow::internal
#endif  // HWY_ONCE
