#include "attnflow/files/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "attnflow/files/array_file.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/files/safetensors.h"

namespace attnflow::half_test {
namespace {

using test::expect_error;
using test::TempFolder;

constexpr std::uint16_t kInfinity = 0x7C00;

// The definition, in double: (-1)^s * 2^(e - 15) * 1.f, or 2^-14 * 0.f. It maps infinity to 2^16.
double half_by_definition(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double fraction = (bits & 1023) / 1024.0;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1.0 + fraction, exponent - 15);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// The half nearest to 0 <= value, by bisection over all halves, with ties to even. Halves and the midpoints between
// adjacent ones are doubles, so the computation is exact.
std::uint16_t nearest_by_definition(double value) {
  std::uint16_t low = 0;
  std::uint16_t high = kInfinity;
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (half_by_definition(middle) <= value ? low : high) = middle;
  }
  const double middle = (half_by_definition(low) + half_by_definition(high)) / 2.0;
  if (value == middle) return low % 2 == 0 ? low : high;
  return value < middle ? low : high;
}

TEST(Half, AllValues) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = half_to_float(static_cast<std::uint16_t>(bits));
    if ((bits & 0x7C00) != 0x7C00) {
      ASSERT_EQ(static_cast<double>(value), half_by_definition(static_cast<std::uint16_t>(bits))) << bits;
    } else if ((bits & 0x3FF) == 0) {
      ASSERT_TRUE(std::isinf(value)) << bits;
    } else {
      ASSERT_TRUE(std::isnan(value)) << bits;
    }
    ASSERT_EQ(std::signbit(value), bits >= 0x8000) << bits;
  }
}

TEST(Half, Bfloat16) {
  EXPECT_EQ(bfloat16_to_float(0x3F80), 1.0F);
  EXPECT_EQ(bfloat16_to_float(0xC049), -3.140625F);
  EXPECT_TRUE(std::isinf(bfloat16_to_float(0x7F80)));
  EXPECT_TRUE(std::isnan(bfloat16_to_float(0x7FC0)));
}

template <typename Float>
class FloatToHalf : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(FloatToHalf, Floats);

TYPED_TEST(FloatToHalf, EveryHalfComesBack) {
  for (std::uint32_t b = 0; b < 0x10000; ++b) {
    const auto bits = static_cast<std::uint16_t>(b);
    const auto value = static_cast<TypeParam>(half_to_float(bits));
    // Conversion between float and double makes NaNs quiet.
    const bool loses_signal = !std::is_same_v<TypeParam, float> && std::isnan(value);
    ASSERT_EQ(float_to_half(value), loses_signal ? bits | 0x200 : bits) << b;
  }
}

TYPED_TEST(FloatToHalf, MidpointsGoToTheEvenNeighbourAndTheirNeighboursToTheNearer) {
  for (std::uint16_t half = 0; half < kInfinity; ++half) {
    const auto next = static_cast<std::uint16_t>(half + 1);
    const auto middle = static_cast<TypeParam>((half_by_definition(half) + half_by_definition(next)) / 2.0);
    const std::uint16_t even = half % 2 == 0 ? half : next;
    ASSERT_EQ(float_to_half(middle), even) << half;
    ASSERT_EQ(float_to_half(-middle), even | 0x8000) << half;
    ASSERT_EQ(float_to_half(std::nextafter(middle, TypeParam{0})), half) << half;
    ASSERT_EQ(float_to_half(std::nextafter(middle, TypeParam{1e9})), next) << half;
    ASSERT_EQ(float_to_half(-std::nextafter(middle, TypeParam{1e9})), next | 0x8000) << half;
  }
}

TYPED_TEST(FloatToHalf, AgreesWithTheDefinitionOnNumbersOfEveryExponent) {
  using Bits = std::conditional_t<sizeof(TypeParam) == 4, std::uint32_t, std::uint64_t>;
  constexpr int kFractionBits = std::numeric_limits<TypeParam>::digits - 1;
  constexpr Bits kExponents = Bits{2} * std::numeric_limits<TypeParam>::max_exponent - 1;  // the last one is not finite
  std::uint64_t state = 1;
  std::size_t compared = 0;
  for (Bits exponent = 0; exponent < kExponents; ++exponent) {
    for (int i = 0; i < 300; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      const auto fraction = static_cast<Bits>(state >> (64 - kFractionBits));
      const auto value = std::bit_cast<TypeParam>((exponent << kFractionBits) | fraction);
      const std::uint16_t expected = nearest_by_definition(static_cast<double>(value));
      ASSERT_EQ(float_to_half(value), expected) << value;
      ASSERT_EQ(float_to_half(-value), expected | 0x8000) << value;
      ++compared;
    }
  }
  EXPECT_EQ(compared, std::size_t{kExponents} * 300U);
}

TYPED_TEST(FloatToHalf, EndsOfTheRange) {
  using Limits = std::numeric_limits<TypeParam>;
  const auto half_of = [](auto value) { return float_to_half(static_cast<TypeParam>(value)); };
  EXPECT_EQ(half_of(65504.0), 0x7BFF);
  EXPECT_EQ(half_of(65519.99), 0x7BFF);
  EXPECT_EQ(half_of(65520.0), kInfinity);
  EXPECT_EQ(float_to_half(Limits::max()), kInfinity);
  EXPECT_EQ(float_to_half(Limits::infinity()), kInfinity);
  EXPECT_EQ(float_to_half(-Limits::infinity()), 0xFC00);
  EXPECT_EQ(half_of(0x1p-24), 0x0001);
  EXPECT_EQ(half_of(0x1p-25), 0x0000);
  EXPECT_EQ(float_to_half(std::nextafter(static_cast<TypeParam>(0x1p-25), TypeParam{1})), 0x0001);
  EXPECT_EQ(float_to_half(Limits::denorm_min()), 0x0000);
  EXPECT_EQ(float_to_half(-Limits::denorm_min()), 0x8000);
  EXPECT_EQ(float_to_half(std::copysign(Limits::quiet_NaN(), TypeParam{-1})), 0xFE00);
}

TEST(FloatToHalf, NanWhosePayloadLiesInTheDroppedBitsStaysOne) {
  EXPECT_EQ(float_to_half(std::bit_cast<float>(0x7F800001U)), 0x7E00);
  EXPECT_EQ(float_to_half(std::bit_cast<double>(0x7FF0000000000001U)), 0x7E00);
}

TEST(FloatToHalf, DoublesAreRoundedOnce) {
  // Rounding through float would make this a tie, which goes to the even half below.
  EXPECT_EQ(float_to_half(1.0 + 0x1p-11 + 0x1p-40), 0x3C01);
  EXPECT_EQ(float_to_half(static_cast<float>(1.0 + 0x1p-11 + 0x1p-40)), 0x3C00);
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
  expect_error(
      ErrorKind::kOther,
      {"weights.w", "expected numbers that half precision can hold (magnitudes below 65520), found -65520 at element 1",
       "float32"},
      [&] { Array::half_of(values.view(), "weights.w"); });
}

}  // namespace
}  // namespace attnflow::half_test
