#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <stdexcept>
#include <vector>

#include "attnflow/base/checked_size.h"
#include "attnflow/base/error.h"
#include "attnflow/base/parallel_for.h"

namespace attnflow {
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

TEST(ParallelFor, VisitsEveryIndexOnceWithItsOwnWorker) {
  for (const std::size_t threads : {1, 3, 50}) {
    std::vector<int> visits(37, 0);
    std::vector<int> busy(threads, 0);
    parallel_for(37, {.threads = threads}, [&](std::size_t index, std::size_t worker) {
      ASSERT_LT(worker, threads);
      EXPECT_EQ(++busy[worker], 1);
      ++visits[index];
      --busy[worker];
    });
    EXPECT_EQ(visits, std::vector<int>(37, 1));
  }
  parallel_for(0, {}, [](std::size_t, std::size_t) { FAIL() << "called for nothing"; });
}

TEST(ParallelFor, PassesOnTheFirstFailure) {
  EXPECT_THROW(parallel_for(100, {.threads = 4},
                            [](std::size_t index, std::size_t) {
                              if (index == 13) throw std::runtime_error("13");
                            }),
               std::runtime_error);
}

TEST(ParallelFor, Cancels) {
  std::stop_source stop;
  int calls = 0;
  EXPECT_THROW(parallel_for(10, {.threads = 1, .stop_token = stop.get_token()},
                            [&](std::size_t index, std::size_t) {
                              ++calls;
                              if (index == 3) stop.request_stop();
                            }),
               Cancelled);
  EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace attnflow
