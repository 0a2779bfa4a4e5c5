// Comparisons of numbers that model tests share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace attnflow::test {

// Returns the largest difference; infinite when a value is not a number, so that NaN fails every bound.
template <typename T = float>
double largest_difference(std::span<const std::type_identity_t<T>> a, std::span<const std::type_identity_t<T>> b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest))
      largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
  }
  return largest;
}

inline double largest(std::span<const float> values) {
  double result = 0.0;
  for (const float value : values) result = std::max(result, std::abs(static_cast<double>(value)));
  return result;
}

// Expects the same shape, and values within `tolerance` times the largest expected number, or times 1 if larger.
template <typename Found, typename Expected>
void expect_close(const Found& found, const Expected& expected, double tolerance) {
  ASSERT_EQ(found.shape(), expected.shape());
  EXPECT_LE(largest_difference(found.span(), expected.span()), tolerance * std::max(1.0, largest(expected.span())));
}

template <typename Found, typename Expected>
void expect_within(const Found& found, const Expected& expected, double tolerance) {
  ASSERT_EQ(found.shape(), expected.shape());
  EXPECT_LE(largest_difference(found.span(), expected.span()), tolerance);
}

// Expects the same result of pass(threads), a model's numbers, for one thread and for `others`.
template <typename Pass>
void expect_same_bits(const Pass& pass, const std::vector<std::size_t>& others = {2, 3, 1}) {
  const auto expected = pass(std::size_t{1});
  for (const std::size_t threads : others) {
    EXPECT_TRUE(pass(threads) == expected) << threads << " threads";  // not EXPECT_EQ, which would print them
  }
}

inline std::vector<std::int64_t> spread_ids(std::size_t tokens, std::size_t vocabulary) {
  constexpr std::size_t kStride = 7919;
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < tokens; ++i) ids.push_back(static_cast<std::int64_t>((i + 1) * kStride % vocabulary));
  return ids;
}

}  // namespace attnflow::test
