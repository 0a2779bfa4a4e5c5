#include "attnflow/base/idle_processors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace attnflow::idle_processors_test {
namespace {

TEST(IdleProcessors, ReadsTheCountOfRunnableTasks) {
  EXPECT_EQ(runnable_tasks("0.20 0.18 0.12 3/80 11206"), 3U);
  EXPECT_EQ(runnable_tasks("0.00 0.00 0.00 17/1024 1\n"), 17U);
  for (const char* const text : {"", "0.2", "0.20 0.18 0.12", "0.20 0.18 0.12 ", "0.20 0.18 0.12 3", "a b c d/e f",
                                 " 0.18 0.12 3/80 1", "0.20 0.18 0.12 -3/80 11206"}) {
    EXPECT_FALSE(runnable_tasks(text)) << text;
  }
}

TEST(IdleProcessors, AreSomeOfThoseThatThereAre) {
  const std::size_t idle = idle_processors();
  EXPECT_GE(idle, 1U);
  EXPECT_LE(idle, usable_processors());
  EXPECT_LE(usable_processors(), std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace attnflow::idle_processors_test
