#include "attnflow/report/zlib_bytes.h"

#include <gtest/gtest.h>

#include <random>

namespace attnflow::internal::zlib_bytes_test {
namespace {

std::vector<std::byte> noise(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 7 == 0 ? random() & 0xffU : 0U);
  return bytes;
}

TEST(ZlibBytes, RoundTripOfAllSizes) {
  for (const std::size_t size : {0U, 1U, 2U, 100U, 65'535U, 1'048'575U, 1'048'576U, 1'048'577U, 2'500'000U}) {
    const std::vector<std::byte> bytes = noise(size, size);
    const std::vector<std::byte> packed = zlib_compress(bytes);
    EXPECT_EQ(packed, zlib_compress(bytes)) << size;
    const auto back = zlib_uncompress(packed, size, size);
    ASSERT_TRUE(back) << size;
    EXPECT_EQ(*back, bytes) << size;
  }
}

TEST(ZlibBytes, LimitsAreChecked) {
  const std::vector<std::byte> bytes = noise(1000, 1);
  const std::vector<std::byte> packed = zlib_compress(bytes);
  EXPECT_TRUE(zlib_uncompress(packed, 0, 1000));
  EXPECT_TRUE(zlib_uncompress(packed, 900, 5'000'000));
  EXPECT_FALSE(zlib_uncompress(packed, 0, 999));
  EXPECT_FALSE(zlib_uncompress(packed, 1001, 2000));
  EXPECT_FALSE(zlib_uncompress(packed, 0, 0));
  EXPECT_FALSE(zlib_uncompress(packed, 2, 1));
}

TEST(ZlibBytes, DamageIsRefused) {
  const std::vector<std::byte> bytes = noise(1000, 2);
  const std::vector<std::byte> good = zlib_compress(bytes);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(zlib_uncompress(std::span(good).first(size), 1000, 1000)) << size;
  }
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(zlib_uncompress(longer, 1000, 1000));
  std::vector<std::byte> other_sum = good;
  other_sum.back() ^= std::byte{1};
  EXPECT_FALSE(zlib_uncompress(other_sum, 1000, 1000));
  EXPECT_FALSE(zlib_uncompress(bytes, 1000, 1000));
}

TEST(ZlibBytes, BombsStopAtTheLimit) {
  const std::vector<std::byte> bomb = zlib_compress(std::vector<std::byte>(20'000'000));
  EXPECT_LT(bomb.size(), 25'000U);
  EXPECT_FALSE(zlib_uncompress(bomb, 0, 100));
  EXPECT_FALSE(zlib_uncompress(bomb, 100, 100));
  EXPECT_FALSE(zlib_uncompress(bomb, std::size_t{1} << 60U, std::size_t{1} << 60U));
}

}  // namespace
}  // namespace attnflow::internal::zlib_bytes_test
