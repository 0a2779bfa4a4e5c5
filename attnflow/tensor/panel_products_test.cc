#include "attnflow/tensor/panel_products.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <tuple>
#include <vector>

namespace attnflow::internal::panel_products_test {
namespace {

// n, rows, in: every rest of every tile.
class PanelProducts : public testing::TestWithParam<std::tuple<std::size_t, std::size_t, std::size_t>> {
 protected:
  std::vector<float> numbers(std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = normal_(random_);
    return values;
  }

 private:
  std::mt19937 random_{7};
  std::normal_distribution<float> normal_;
};

TEST_P(PanelProducts, AreTheSumsOfTheirDefinition) {
  const auto [n, rows, in] = GetParam();
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

INSTANTIATE_TEST_SUITE_P(Shapes, PanelProducts,
                         testing::Combine(testing::Values(1, 2, 3, 4, 5, 9), testing::Values(1, 3, 4, 6, 9),
                                          testing::Values(1, 15, 16, 33, 64, 100, 257, 1540)));

}  // namespace
}  // namespace attnflow::internal::panel_products_test
