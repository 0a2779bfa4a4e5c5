#include "attnflow/tensor/panel_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace attnflow::internal::panel_products_test {
namespace {

std::vector<float> numbers(std::size_t count) {
  static std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

void expect_sums(std::size_t n, std::size_t rows, std::size_t in) {
  SCOPED_TRACE(testing::Message() << n << " x " << rows << " x " << in);
  const std::size_t stride = rows + 2;
  const PanelShape shape = {n, rows, in};
  const std::vector<float> x = numbers(n * in);
  const std::vector<float> panel = numbers(rows * in);
  std::vector<float> result(n * stride, 9.0F);
  PanelColumns(x.data(), n, in).times(panel.data(), rows, result.data(), stride);
  const std::vector<float> before = numbers(n * in);
  std::vector<float> sum = before;
  panel_add(result.data(), stride, panel.data(), shape, sum.data());
  const double tolerance = 3e-6 * std::sqrt(static_cast<double>(in));
  for (std::size_t t = 0; t < n; ++t) {
    for (std::size_t r = 0; r < rows; ++r) {
      double expected = 0.0;
      for (std::size_t k = 0; k < in; ++k) {
        expected += static_cast<double>(x[t * in + k]) * static_cast<double>(panel[r * in + k]);
      }
      EXPECT_NEAR(result[t * stride + r], expected, tolerance) << t << ' ' << r;
    }
    EXPECT_EQ(result[t * stride + rows], 9.0F);  // not its to write
    for (std::size_t k = 0; k < in; ++k) {
      double expected = static_cast<double>(before[t * in + k]);
      double size = 1.0;
      for (std::size_t r = 0; r < rows; ++r) {
        const double term = static_cast<double>(result[t * stride + r]) * static_cast<double>(panel[r * in + k]);
        expected += term;
        size += std::abs(term);
      }
      EXPECT_NEAR(sum[t * in + k], expected, 1e-6 * size) << t << ' ' << k;
    }
  }
}

TEST(PanelProducts, AreTheSumsOfTheirDefinition) {
  for (const std::size_t n : {1, 2, 3, 4, 5, 6, 9, 20}) {  // every rest of every tile
    for (const std::size_t rows : {1, 3, 6, 7, 13}) {
      for (const std::size_t in : {1, 15, 16, 33, 64, 100, 257, 600}) expect_sums(n, rows, in);
    }
  }
}

}  // namespace
}  // namespace attnflow::internal::panel_products_test
