#include "attnflow/metrics/importance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attnflow/base/error_for_test.h"
#include "attnflow/base/random.h"

namespace attnflow::importance_test {
namespace {

using Values = std::vector<double>;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Tensor<float> random_array(std::size_t n, std::size_t width, Random& random) {
  Tensor<float> values({n, width});
  for (float& value : values.span()) value = static_cast<float>(random.normal());
  return values;
}

TEST(BlankOut, IsTheSizeOfTheChange) {
  EXPECT_EQ(blank_out_importance(0.75, Values{0.5, 0.75, 1.0}), (Values{0.25, 0, 0.25}));
  EXPECT_TRUE(blank_out_importance(0.5, {}).empty());
  EXPECT_THROW(blank_out_importance(0.5, Values{0.5, std::nan("")}), Error);
  EXPECT_THROW(blank_out_importance(std::nan(""), Values{0.5}), Error);
}

TEST(Gradient, ScoresOfASmallExample) {
  const Tensor<float> gradient({3, 2}, {3, -4, 0, 0, 1, 1});
  const Tensor<float> embedding({3, 2}, {1, 1, 5, 5, -1, -2});
  EXPECT_EQ(gradient_norm(gradient.view()), (Values{5, 0, std::sqrt(2.0)}));
  EXPECT_EQ(gradient_times_input(gradient.view(), embedding.view()), (Values{-1, 0, -3}));
  EXPECT_EQ(gradient_times_input(gradient.view(), embedding.view(), Sign::kAbsolute), (Values{1, 0, 3}));
  const GradientSum sum = gradient_sum(gradient.view());
  EXPECT_EQ(sum.scores, (Values{1, 0, 2}));
  EXPECT_EQ(sum.largest, 2);
  EXPECT_EQ(sum.noise_bound, 0x1p-23 * std::sqrt(2.0) * 7);
  EXPECT_FALSE(sum.is_rounding_noise);
}

// For y = sum_j w . (e_j * e_j) the gradient is 2 w e, and the three scores follow from calculus.
TEST(Gradient, ScoresOfAQuadraticForm) {
  Random random(1);
  const Tensor<float> embedding = random_array(6, 16, random);
  const Tensor<float> weight = random_array(1, 16, random);
  Tensor<float> gradient({6, 16});
  Values value(6);
  for (std::size_t j = 0; j < 6; ++j) {
    for (std::size_t d = 0; d < 16; ++d) {
      gradient(j, d) = 2 * weight(0, d) * embedding(j, d);
      value[j] += static_cast<double>(weight(0, d)) * std::pow(static_cast<double>(embedding(j, d)), 2);
    }
  }
  const Values scores = gradient_times_input(gradient.view(), embedding.view());
  for (std::size_t j = 0; j < 6; ++j) EXPECT_NEAR(scores[j], 2 * value[j], 1e-5);  // float32 products
}

// A layer norm's input gradient from its output gradient, in float32. Over dimensions it sums to zero up to rounding.
Tensor<float> layer_norm_backward(const Tensor<float>& input, const Tensor<float>& gradient) {
  const std::size_t width = input.extent(1);
  Tensor<float> result(input.shape());
  for (std::size_t j = 0; j < input.extent(0); ++j) {
    float mean = 0;
    for (std::size_t d = 0; d < width; ++d) mean += input(j, d);
    mean /= static_cast<float>(width);
    float variance = 0;
    for (std::size_t d = 0; d < width; ++d) variance += (input(j, d) - mean) * (input(j, d) - mean);
    const float scale = 1 / std::sqrt(variance / static_cast<float>(width) + 1e-12F);
    float average = 0;
    float slope = 0;
    for (std::size_t d = 0; d < width; ++d) {
      average += gradient(j, d);
      slope += gradient(j, d) * (input(j, d) - mean) * scale;
    }
    average /= static_cast<float>(width);
    slope /= static_cast<float>(width);
    for (std::size_t d = 0; d < width; ++d) {
      result(j, d) = scale * (gradient(j, d) - average - (input(j, d) - mean) * scale * slope);
    }
  }
  return result;
}

TEST(GradientSum, IsRoundingNoiseBeforeALayerNorm) {
  for (const std::size_t width : {16U, 128U, 768U, 4096U}) {
    for (const float offset : {0.0F, 5.0F}) {  // a common part of the gradient, which the norm must cancel
      Random random(width);
      const Tensor<float> input = random_array(12, width, random);
      Tensor<float> after = random_array(12, width, random);
      for (float& value : after.span()) value += offset;
      const GradientSum behind = gradient_sum(after.view());
      EXPECT_FALSE(behind.is_rounding_noise) << width;
      EXPECT_GT(behind.largest, 100 * kNoiseFactor * behind.noise_bound) << width;
      const GradientSum before = gradient_sum(layer_norm_backward(input, after).view());
      EXPECT_TRUE(before.is_rounding_noise) << width << ": " << before.largest << " of " << before.noise_bound;
      EXPECT_GT(before.largest, 0) << "the ranking of noise looks like any other";
    }
  }
}

// Pre-layer-norm blocks with residuals: each adds its norm's gradient to the one that bypasses it.
TEST(GradientSum, IsRoundingNoiseAtTheBottomOfADeepModel) {
  Random random(3);
  const std::size_t width = 256;
  Tensor<float> gradient = layer_norm_backward(random_array(8, width, random), random_array(8, width, random));
  for (int layer = 0; layer < 24; ++layer) {
    const Tensor<float> branch = layer_norm_backward(random_array(8, width, random), random_array(8, width, random));
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient.span()[i] += branch.span()[i];
  }
  EXPECT_TRUE(gradient_sum(gradient.view()).is_rounding_noise);
}

TEST(GradientSum, ASumFarSmallerThanTheGradientIsStillSeen) {
  Random random(2);
  Tensor<float> gradient = layer_norm_backward(random_array(12, 128, random), random_array(12, 128, random));
  for (float& value : gradient.span()) value += 0.001F;
  EXPECT_FALSE(gradient_sum(gradient.view()).is_rounding_noise);
  EXPECT_TRUE(gradient_sum(Tensor<float>({2, 3}).view()).is_rounding_noise);
}

TEST(Gradient, RefusesWhatIsNoGradient) {
  const Tensor<float> good({2, 2}, {1, 2, 3, 4});
  const Tensor<float> bad({2, 2}, {1, 2, 3, kNaN});
  for (const Tensor<float>& wrong : {Tensor<float>({2}), Tensor<float>({0, 3}), Tensor<float>({3, 0})}) {
    EXPECT_THROW(gradient_norm(wrong.view()), Error);
    EXPECT_THROW(gradient_sum(wrong.view()), Error);
    EXPECT_THROW(gradient_times_input(wrong.view(), wrong.view()), Error);
  }
  EXPECT_THROW(gradient_times_input(good.view(), bad.view()), Error);
  EXPECT_THROW(gradient_norm(bad.view()), Error);
  test::expect_error(ErrorKind::kUsage, {"token 1"}, [&] { gradient_sum(bad.view()); });
}

}  // namespace
}  // namespace attnflow::importance_test
