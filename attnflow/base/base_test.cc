#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "attnflow/base/checked_size.h"
#include "attnflow/base/error.h"

namespace attnflow::base_test {
namespace {

constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max() / 2;

TEST(CheckedSize, RefusesOverflowEvenBesideAZero) {
  EXPECT_EQ(checked_product(std::array<std::size_t, 3>{2, 3, 4}), 24U);
  EXPECT_EQ(checked_product(std::span<const std::size_t>{}), 1U);
  EXPECT_EQ(checked_product(std::array<std::size_t, 2>{0, 5}), 0U);
  EXPECT_EQ(checked_product(std::array<std::size_t, 3>{0, kHuge, kHuge}), std::nullopt);
  EXPECT_EQ(checked_multiply(kHuge, 3), std::nullopt);
}

TEST(Error, KindIsTheExitCode) {
  EXPECT_EQ(Error(ErrorKind::kUsage, "x").exit_code(), 2);
  EXPECT_EQ(Error(ErrorKind::kBadFile, "x").exit_code(), 3);
  EXPECT_EQ(Error(ErrorKind::kUnsupportedModel, "x").exit_code(), 4);
  EXPECT_EQ(Error(ErrorKind::kInputTooLong, "x").exit_code(), 5);
  EXPECT_EQ(Error(ErrorKind::kOther, "x").exit_code(), 1);
}

}  // namespace
}  // namespace attnflow::base_test
