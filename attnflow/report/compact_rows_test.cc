#include "attnflow/report/compact_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace attnflow::internal::compact_rows_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

TEST(LogCodes, AreThoseOfTheFormat) {
  const LogCodes codes;
  EXPECT_EQ(codes.fraction(0), 0.0);
  EXPECT_EQ(codes.fraction(255), 1.0);
  EXPECT_DOUBLE_EQ(codes.fraction(1), 1e-5);
  EXPECT_DOUBLE_EQ(codes.fraction(128), std::pow(10.0, -5.0 * 127.0 / 254.0));
  EXPECT_NEAR(codes.error(), 0.0229, 1e-4);
  for (int c = 0; c <= 255; ++c) {
    const auto code = static_cast<std::uint8_t>(c);
    EXPECT_EQ(codes.code(codes.value(code, 0.25F), 0.25F), code);
  }
}

TEST(LogCodes, AreOffByNoMoreThanTheySay) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-5.0, 0.0);
  for (const double decades : {0.5, 5.0, 30.0}) {
    const LogCodes codes(decades);
    for (int i = 0; i < 20000; ++i) {
      const float scale = static_cast<float>(std::pow(10.0, 3.0 * exponent(random)));
      const double value = static_cast<double>(scale) * std::pow(10.0, exponent(random) * decades / 5.0);
      const double back = codes.value(codes.code(value, scale), scale);
      // Powers are rounded, and so is the quotient at a border between two codes.
      EXPECT_LE(std::fabs(back - value), value * (codes.error() + 1e-12)) << value << " in " << scale;
    }
  }
}

TEST(LogCodes, SmallValuesTakeTheNearerOfOneAndZero) {
  const LogCodes codes;
  EXPECT_EQ(codes.code(0.51e-5, 1.0F), 1);
  EXPECT_EQ(codes.code(0.49e-5, 1.0F), 0);
  EXPECT_EQ(codes.code(1e-300, 1.0F), 0);
  EXPECT_EQ(codes.code(1.0 + 1e-9, 1.0F), 255);  // a scale is rounded
}

TEST(LogCodes, WhatIsNoPositiveNumberIsZero) {
  const LogCodes codes;
  for (const double value : {0.0, -0.0, -1.0, kInfinity, -kInfinity, kUndefined}) {
    EXPECT_EQ(codes.code(value, 1.0F), 0) << value;
    EXPECT_EQ(codes.code(value, 0.0F), 0) << value;
  }
  EXPECT_EQ(row_scale(std::vector<double>{kUndefined, -3.0, kInfinity, 0.5, 0.25, 1e300}), 0.5F);
  EXPECT_EQ(row_scale(std::vector<double>{-1.0, 0.0, kUndefined}), 0.0F);
  EXPECT_EQ(row_scale({}), 0.0F);
}

std::vector<double> expanded(const TopRows& rows, std::size_t count, std::size_t n, const VisibleColumns& visible) {
  std::vector<double> values;
  const auto problem = expand_top_rows(rows, LogCodes(), count, n, visible, [&](std::size_t r, auto row) {
    EXPECT_EQ(r * n, values.size());
    values.insert(values.end(), row.begin(), row.end());
  });
  EXPECT_FALSE(problem) << problem->part << ": expected " << problem->expected << ", found " << problem->found;
  EXPECT_EQ(values.size(), count * n);
  return values;
}

std::vector<double> all_of(const TopRows& rows, std::size_t count, std::size_t n) {
  return expanded(rows, count, n, [n](std::size_t) { return n; });
}

TEST(TopRows, KeepTheLargestAndSumTheRest) {
  TopRows rows;
  const std::vector<double> row = {0.05, 0.5, 0.01, 0.25, 0.15, 0.04};
  EXPECT_NEAR(append_top_row(row, {.share = 2.0, .least = 2}, LogCodes(), rows), 0.75, 1e-12);
  EXPECT_EQ(rows.counts, std::vector<std::uint16_t>{2});
  EXPECT_EQ(rows.columns, (std::vector<std::uint8_t>{1, 1}));  // column 1, then one is skipped
  EXPECT_EQ(rows.scales, std::vector<float>{0.5F});
  EXPECT_FLOAT_EQ(rows.rest[0], 0.25F);
  const std::vector<double> back = all_of(rows, 1, 6);
  EXPECT_EQ(back[1], 0.5);
  EXPECT_NEAR(back[3], 0.25, 0.25 * 0.023);
  for (const std::size_t j : {0, 2, 4, 5}) EXPECT_NEAR(back[j], 0.0625, 1e-9);
}

TEST(TopRows, AShareKeepsMoreThanTheLeast) {
  const std::vector<double> row = {0.4, 0.3, 0.2, 0.1};
  for (const auto& [share, count] : {std::pair{0.15, 3}, std::pair{0.05, 4}, std::pair{0.35, 2}, std::pair{2.0, 2}}) {
    TopRows rows;
    append_top_row(row, {.share = share, .least = 2}, LogCodes(), rows);
    EXPECT_EQ(rows.counts[0], count) << share;
  }
}

TEST(TopRows, OfEqualValuesTheFirstAreKept) {
  TopRows rows;
  append_top_row(std::vector<double>{0.1, 0.2, 0.1, 0.1, 0.2, 0.1}, {.share = 2.0, .least = 4}, LogCodes(), rows);
  EXPECT_EQ(rows.counts[0], 4);
  EXPECT_EQ(rows.columns, (std::vector<std::uint8_t>{0, 0, 0, 1}));  // columns 0, 1, 2 and 4
  const std::vector<double> back = all_of(rows, 1, 6);
  EXPECT_NEAR(back[3], 0.1, 1e-4);  // the rest is kept to 12 bits
  EXPECT_NEAR(back[5], 0.1, 1e-4);
}

TEST(TopRows, ZerosAndUndefinedValuesAreNeverKept) {
  TopRows rows;
  EXPECT_EQ(append_top_row(std::vector<double>(5, 0.0), {}, LogCodes(), rows), 1.0);
  EXPECT_EQ(append_top_row(std::vector<double>{kUndefined, -1.0, 0.5, kInfinity, 0.0}, {}, LogCodes(), rows), 1.0);
  EXPECT_GT(append_top_row(std::vector<double>{1.0, 1e-7, 1e-7, 0.0, 0.0}, {}, LogCodes(), rows), 0.9999);
  EXPECT_EQ(rows.counts, (std::vector<std::uint16_t>{0, 1, 1}));
  EXPECT_NEAR(rows.rest[2], 2e-7F, 1e-10);
  const std::vector<double> back = all_of(rows, 3, 5);
  EXPECT_EQ(std::vector<double>(back.begin(), back.begin() + 10),
            (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0.5, 0, 0}));
}

TEST(TopRows, NoMoreThanCountsCanSay) {
  TopRows rows;
  append_top_row(std::vector<double>(70'000, 0.5), {.share = 0.0, .least = 16}, LogCodes(), rows);
  EXPECT_EQ(rows.counts[0], 65'535);
  EXPECT_EQ(rows.codes.size(), 65'535U);
}

TEST(TopRows, TheRestLiesWhereTheRowSees) {
  TopRows rows;
  append_top_row(std::vector<double>{0.5, 0.3, 0.2, 0.0, 0.0}, {.share = 2.0, .least = 1}, LogCodes(), rows);
  append_top_row(std::vector<double>{0.25, 0.75, 0.0, 0.0, 0.0}, {.share = 2.0, .least = 2}, LogCodes(), rows);
  const std::vector<double> back = expanded(rows, 2, 5, [](std::size_t r) { return 3 - r; });
  EXPECT_NEAR(back[1], 0.25, 1e-4);
  EXPECT_NEAR(back[2], 0.25, 1e-4);
  EXPECT_EQ(back[3], 0.0);
  EXPECT_EQ(back[7], 0.0);
}

TEST(TopRows, RandomRowsComeBack) {
  std::mt19937_64 random(20260101);
  std::exponential_distribution<double> exponential(1.0);
  for (int round = 0; round < 200; ++round) {
    const std::size_t n = 1 + random() % 700;
    std::vector<double> row(n);
    for (double& value : row) value = random() % 4 == 0 ? 0.0 : std::pow(exponential(random), 3.0);
    const TopRule rule{.share = 0.5 * static_cast<double>(random() % 20) / static_cast<double>(n),
                       .least = random() % 20};
    TopRows rows;
    const double share = append_top_row(row, rule, LogCodes(), rows);
    const std::vector<double> back = all_of(rows, 1, n);
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    std::vector<double> sorted = row;
    std::sort(sorted.rbegin(), sorted.rend());
    const std::size_t kept = rows.counts[0];
    ASSERT_LE(kept, n);
    double mass = 0.0;
    for (std::size_t k = 0; k < kept; ++k) mass += sorted[k];
    EXPECT_NEAR(share * sum, mass, 1e-9 * sum) << "round " << round;
    if (kept < n && sorted[kept] >= sorted[0] * 1e-5 && sorted[kept] > 0.0) {
      EXPECT_GE(kept, rule.least);
      EXPECT_LT(sorted[kept], std::max(rule.share * sum, kept == rule.least ? kInfinity : 0.0)) << "round " << round;
    }
    EXPECT_NEAR(std::accumulate(back.begin(), back.end(), 0.0), sum, 0.024 * sum + 1e-12) << "round " << round;
    std::size_t exact = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (std::fabs(back[j] - row[j]) <= row[j] * 0.0231) ++exact;
    }
    EXPECT_GE(exact, kept) << "round " << round;
  }
}

TEST(TopRows, ColumnsTakeOneByteForSevenBits) {
  EXPECT_EQ(max_column_bytes(1), 1U);
  EXPECT_EQ(max_column_bytes(127), 1U);
  EXPECT_EQ(max_column_bytes(128), 2U);
  EXPECT_EQ(max_column_bytes(16'384), 3U);
  EXPECT_EQ(max_column_bytes(std::numeric_limits<std::size_t>::max()), 10U);
  TopRows rows;
  std::vector<double> row(20'000, 0.0);
  for (const std::size_t j : {0, 128, 257, 16'642, 19'999}) row[j] = 0.5;
  append_top_row(row, {}, LogCodes(), rows);
  EXPECT_EQ(rows.columns, (std::vector<std::uint8_t>{0, 127, 0x80, 1, 0x80, 0x80, 1, 0x9c, 0x1a}));
  EXPECT_EQ(all_of(rows, 1, row.size()), row);
}

class HostileTopRows : public testing::Test {
 protected:
  HostileTopRows() {
    for (int r = 0; r < 2; ++r) {
      append_top_row(std::vector<double>{0.5, 0.3, 0.2, 0.1}, {.share = 2.0, .least = 2}, LogCodes(), rows_);
    }
  }
  std::string problem(std::size_t count = 2, std::size_t n = 4) const {
    const auto found = expand_top_rows(
        rows_, LogCodes(), count, n, [n](std::size_t) { return n; }, [](std::size_t, auto) {});
    return found ? found->part : "";
  }
  TopRows rows_;
};

TEST_F(HostileTopRows, SoundOnesPass) { EXPECT_EQ(problem(), ""); }

TEST_F(HostileTopRows, LengthsMustFitTogether) {
  EXPECT_EQ(problem(1), "counts");
  EXPECT_EQ(problem(3), "counts");
  rows_.scales.pop_back();
  EXPECT_EQ(problem(), "scales");
  rows_.scales = {1.0F, 1.0F};
  rows_.rest.push_back(0.0F);
  EXPECT_EQ(problem(), "rest");
}

TEST_F(HostileTopRows, CountsAboveWhatThereIs) {
  rows_.counts[1] = 5;
  EXPECT_EQ(problem(), "counts");
  rows_.counts[1] = 3;
  EXPECT_EQ(problem(), "codes");
  rows_.counts[1] = 1;
  EXPECT_EQ(problem(), "codes");  // one is left over
  rows_.codes.pop_back();
  EXPECT_EQ(problem(), "columns");  // and a byte of its column
}

TEST_F(HostileTopRows, ColumnsBeyondTheRow) {
  rows_.columns = {0, 3, 0, 0};
  EXPECT_EQ(problem(), "columns");
  rows_.columns = {3, 0, 0, 0};
  EXPECT_EQ(problem(), "columns");
  rows_.columns = {4, 0, 0, 0};
  EXPECT_EQ(problem(), "columns");
  rows_.columns = {2, 0, 0, 2};
  EXPECT_EQ(problem(), "");
}

TEST_F(HostileTopRows, VarintsThatDoNotEndOrAreTooLong) {
  rows_.columns = {0, 0, 0};
  EXPECT_EQ(problem(), "columns");
  rows_.columns = {0, 0, 0, 0x80};
  EXPECT_EQ(problem(), "columns");
  rows_.columns = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0, 0, 0};
  EXPECT_EQ(problem(), "columns");
  // A 64-bit varint takes at most ten bytes; more bits must not wrap around to a small column.
  const std::size_t large = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(max_column_bytes(large), 10U);
}

TEST_F(HostileTopRows, NumbersThatAreNone) {
  for (const float bad : {-1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    rows_.scales[1] = bad;
    EXPECT_EQ(problem(), "scales");
    rows_.scales[1] = 1.0F;
    rows_.rest[0] = bad;
    EXPECT_EQ(problem(), "rest");
    rows_.rest[0] = 0.0F;
  }
}

}  // namespace
}  // namespace attnflow::internal::compact_rows_test
