#include "attnflow/base/progress_lines.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace attnflow::internal::progress_lines_test {
namespace {

TEST(ProgressLines, AnEstimateThenALineEveryTenSecondsAndNoneForShortWork) {
  ProgressLines lines("samples");
  std::vector<std::string> said;
  for (std::size_t done = 1; done <= 20; ++done) {
    if (const auto line = lines.update(1000.0 + 3.0 * static_cast<double>(done), done, 20)) said.push_back(*line);
  }
  EXPECT_EQ(said, (std::vector<std::string>{"samples: 2 of 20, about 54 s left", "samples: 6 of 20, about 42 s left",
                                            "samples: 10 of 20, about 30 s left", "samples: 14 of 20, about 18 s left",
                                            "samples: 18 of 20, about 6 s left"}));
  ProgressLines quick("samples");
  for (std::size_t done = 1; done <= 100; ++done) {
    EXPECT_EQ(quick.update(0.09 * static_cast<double>(done), done, 100), std::nullopt);
  }
}

TEST(ProgressLines, AnHourDoesNotFillALog) {
  ProgressLines lines("tokens blanked");
  std::size_t said = 0;
  for (std::size_t done = 0; done <= 3600; ++done) said += lines.update(static_cast<double>(done), done, 3600) ? 1 : 0;
  EXPECT_EQ(said, 20U);  // the estimate, then one every three minutes
}

TEST(ProgressLines, LongWorkInMinutesAndHours) {
  ProgressLines minutes("pictures", 1.0);
  EXPECT_EQ(minutes.update(0.0, 0, 100), std::nullopt);
  EXPECT_EQ(minutes.update(60.0, 10, 100), "pictures: 10 of 100, about 9 min left");
  ProgressLines hours("pictures", 1.0);
  EXPECT_EQ(hours.update(0.0, 0, 1001), std::nullopt);
  EXPECT_EQ(hours.update(36.0, 1, 1001), "pictures: 1 of 1001, about 10.0 h left");
}

TEST(ProgressLines, SaysNothingOfWorkThatIsDoneOrHasNotMoved) {
  ProgressLines lines("samples", 1.0);
  EXPECT_EQ(lines.update(0.0, 3, 10), std::nullopt);
  EXPECT_EQ(lines.update(5.0, 3, 10), std::nullopt);  // no basis for an estimate yet
  EXPECT_EQ(lines.update(6.0, 4, 10), "samples: 4 of 10, about 36 s left");
  EXPECT_EQ(lines.update(50.0, 10, 10), std::nullopt);
}

TEST(ProgressLines, SaysNothingInTheLastSecond) {
  ProgressLines lines("prompt tokens read");
  EXPECT_EQ(lines.update(0.0, 0, 841), std::nullopt);
  EXPECT_EQ(lines.update(10.2, 821, 841), std::nullopt);
}

TEST(ProgressLines, LessDoneThanBeforeIsOtherWork) {
  ProgressLines lines("generated tokens");
  EXPECT_EQ(lines.update(0.0, 0, 10), std::nullopt);
  EXPECT_EQ(lines.update(3.0, 1, 10), "generated tokens: 1 of 10, about 27 s left");
  EXPECT_EQ(lines.update(30.0, 10, 10), std::nullopt);
  EXPECT_EQ(lines.update(31.0, 1, 10), std::nullopt);  // new work begins
  EXPECT_EQ(lines.update(33.0, 2, 10), "generated tokens: 2 of 10, about 16 s left");
}

}  // namespace
}  // namespace attnflow::internal::progress_lines_test
