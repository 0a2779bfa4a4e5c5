#include "attnflow/base/large_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace attnflow {
namespace large_pages_test {
namespace {

TEST(LargePagesTest, HoldWhatIsStored) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1000}, (std::size_t{1} << 20) + 3}) {
    std::vector<std::int64_t> numbers = zeros_in_large_pages<std::int64_t>(count);
    ASSERT_EQ(numbers.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(numbers[i], 0) << i;
      numbers[i] = static_cast<std::int64_t>(i * i);
    }
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(numbers[i], static_cast<std::int64_t>(i * i)) << i;
  }
}

TEST(LargePagesTest, ReserveChangesNoElements) {
  std::vector<int> numbers = {1, 2, 3};
  reserve_in_large_pages(numbers, std::size_t{4} << 20);
  EXPECT_GE(numbers.capacity(), std::size_t{4} << 20);
  EXPECT_EQ(numbers, (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace large_pages_test
}  // namespace attnflow
