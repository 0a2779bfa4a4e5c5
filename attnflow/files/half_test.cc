#include "attnflow/files/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "attnflow/files/array_file.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/files/safetensors.h"

namespace attnflow {
namespace {

using test::expect_error;
using test::TempFolder;

constexpr std::uint16_t kInfinity = 0x7C00;

// The nearest finite half of 0 <= value < 65520 by bisection over all of them, ties to the even one, in double, where
// halves, their midpoints and differences are exact.
std::uint16_t nearest_by_definition(double value) {
  std::uint16_t low = 0;
  std::uint16_t high = kInfinity - 1;
  if (value >= static_cast<double>(half_to_float(high))) return high;
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (static_cast<double>(half_to_float(middle)) <= value ? low : high) = middle;
  }
  const double below = value - static_cast<double>(half_to_float(low));
  const double above = static_cast<double>(half_to_float(high)) - value;
  if (below == above) return low % 2 == 0 ? low : high;
  return below < above ? low : high;
}

TEST(FloatToHalf, EveryHalfComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    ASSERT_EQ(float_to_half(half_to_float(static_cast<std::uint16_t>(bits))), bits);
}

TEST(FloatToHalf, MidpointsGoToTheEvenNeighbourAndTheirNeighboursToTheNearer) {
  for (std::uint16_t half = 0; half < kInfinity; ++half) {
    const float low = half_to_float(half);
    // Above the largest finite half stands 2^16, as if the exponents went on.
    const float high = half + 1 < kInfinity ? half_to_float(static_cast<std::uint16_t>(half + 1)) : 65536.0F;
    const float middle = low + (high - low) / 2.0F;  // exact: a float has 13 bits more
    const auto next = static_cast<std::uint16_t>(half + 1);
    const std::uint16_t even = half % 2 == 0 ? half : next;
    ASSERT_EQ(float_to_half(middle), even) << half;
    ASSERT_EQ(float_to_half(-middle), even | 0x8000) << half;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0F)), half) << half;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 1e9F)), next) << half;
    ASSERT_EQ(float_to_half(-std::nextafter(middle, 1e9F)), next | 0x8000) << half;
  }
}

TEST(FloatToHalf, AgreesWithTheDefinitionOnFloatsOfEveryExponent) {
  std::uint32_t state = 1;
  std::size_t compared = 0;
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (int i = 0; i < 300; ++i) {
      state = state * 1664525U + 1013904223U;
      const auto value = std::bit_cast<float>((exponent << 23) | (state >> 9));
      const std::uint16_t expected = value < 65520.0F ? nearest_by_definition(static_cast<double>(value)) : kInfinity;
      ASSERT_EQ(float_to_half(value), expected) << value;
      ASSERT_EQ(float_to_half(-value), expected | 0x8000) << value;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 255U * 300U);
}

TEST(FloatToHalf, EndsOfTheRange) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(float_to_half(0.0F), 0x0000);
  EXPECT_EQ(float_to_half(-0.0F), 0x8000);
  EXPECT_EQ(float_to_half(65504.0F), 0x7BFF);
  EXPECT_EQ(float_to_half(65519.996F), 0x7BFF);
  EXPECT_EQ(float_to_half(65520.0F), kInfinity);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::max()), kInfinity);
  EXPECT_EQ(float_to_half(infinity), kInfinity);
  EXPECT_EQ(float_to_half(-infinity), 0xFC00);
  EXPECT_EQ(float_to_half(0x1p-24F), 0x0001);
  EXPECT_EQ(float_to_half(0x1p-25F), 0x0000);
  EXPECT_EQ(float_to_half(std::nextafter(0x1p-25F, 1.0F)), 0x0001);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0x0000);
  // A NaN whose payload lies in the dropped bits must not become an infinity.
  EXPECT_EQ(float_to_half(std::bit_cast<float>(0x7F800001U)), 0x7E00);
  EXPECT_EQ(float_to_half(std::bit_cast<float>(0xFFC00000U)), 0xFE00);
}

TEST(FloatToBfloat16, EveryBfloat16ComesBack) {
  for (std::uint32_t b = 0; b < 0x10000U; ++b) {
    const auto bits = static_cast<std::uint16_t>(b);
    const bool nan = (bits & 0x7FFFU) > 0x7F80U;
    EXPECT_EQ(float_to_bfloat16(bfloat16_to_float(bits)), nan ? bits | 0x40U : bits);
  }
}

TEST(FloatToBfloat16, MidpointsGoToTheEvenNeighbourAndTheirNeighboursToTheNearer) {
  for (std::uint32_t b = 0; b < 0x7F80U; ++b) {
    const float middle = std::bit_cast<float>((b << 16) | 0x8000U);
    const float larger = std::bit_cast<float>((b << 16) | 0x8001U);
    const float smaller = std::bit_cast<float>((b << 16) | 0x7FFFU);
    ASSERT_EQ(float_to_bfloat16(middle), b + (b & 1U));
    ASSERT_EQ(float_to_bfloat16(larger), b + 1);
    ASSERT_EQ(float_to_bfloat16(smaller), b);
    ASSERT_EQ(float_to_bfloat16(-larger), 0x8000U + b + 1);
  }
}

TEST(HalfArray, IsWrittenAndReadBackWithItsMetadata) {
  const Tensor<float> values({2, 3}, {1.0F, -2.5F, 0.1F, 65504.0F, 1e-8F, std::numeric_limits<float>::infinity()});
  const TempFolder folder;
  write_safetensors(folder / "model.safetensors",
                    {{"w", Array::half_of(values.view(), "w")}, {"b", Array::from(values.view())}}, {{"format", "pt"}});
  const SafetensorsFile file(folder / "model.safetensors");
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.entries().at("w").dtype, DType::kF16);
  EXPECT_EQ(file.entries().at("w").bytes.size(), 12U);
  EXPECT_EQ(file.read("w").to_float("w"),
            (Tensor<float>({2, 3}, {1.0F, -2.5F, 0.0999755859375F, 65504.0F, 0.0F, values.span()[5]})));
  EXPECT_EQ(file.read("b").to_float("b"), values);
  EXPECT_TRUE(Array::half_of(Tensor<float>({0, 4}).view(), "empty").bytes.empty());
}

TEST(HalfArray, RefusesFiniteValuesThatWouldBecomeInfinite) {
  const Tensor<float> values({2}, {1.0F, -65520.0F});
  expect_error(ErrorKind::kOther, {"weights.w", "below 65520", "found -65520 at element 1", "float32"},
               [&] { Array::half_of(values.view(), "weights.w"); });
}

}  // namespace
}  // namespace attnflow
