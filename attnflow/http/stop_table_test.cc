#include "attnflow/http/stop_table.h"

#include <gtest/gtest.h>

namespace attnflow::stop_table_test {
namespace {

TEST(StopTable, EndsTheOneOfThatNameWhileItRuns) {
  StopTable table;
  const auto first = table.open("a");
  auto second = table.open("b");
  EXPECT_TRUE(table.stop("b"));
  EXPECT_TRUE(second->stop_requested());
  EXPECT_FALSE(first->stop_requested());
  EXPECT_FALSE(table.stop("c"));
  second.reset();
  EXPECT_FALSE(table.stop("b"));
  EXPECT_TRUE(table.stop("a"));
}

TEST(StopTable, ANameIsTakenOverAndNoNameIsNobodys) {
  StopTable table;
  const auto first = table.open("a");
  const auto again = table.open("a");
  const auto nameless = table.open("");
  EXPECT_TRUE(table.stop("a"));
  EXPECT_TRUE(again->stop_requested());
  EXPECT_FALSE(first->stop_requested());
  EXPECT_FALSE(table.stop(""));
  EXPECT_FALSE(nameless->stop_requested());
}

}  // namespace
}  // namespace attnflow::stop_table_test
