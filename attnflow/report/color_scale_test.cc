#include "attnflow/report/color_scale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attnflow::internal::color_scale_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(ScaleColor, HasThePublishedEndsAndMiddle) {
  EXPECT_EQ(scale_color(0.0), (Color{0xf7, 0xfb, 0xff}));
  EXPECT_EQ(scale_color(1.0), (Color{0x08, 0x30, 0x6b}));
  EXPECT_EQ(scale_color(-3.0), scale_color(0.0));
  EXPECT_EQ(scale_color(7.0), scale_color(1.0));
  const Color middle = scale_color(0.5);  // within a step of the published color
  EXPECT_NEAR(middle.red, 0x6b, 2);
  EXPECT_NEAR(middle.green, 0xae, 2);
  EXPECT_NEAR(middle.blue, 0xd6, 2);
}

TEST(ScaleColor, GetsDarkerEverywhere) {
  for (int i = 1; i <= 255; ++i) {
    EXPECT_LE(luminance(scale_color(i / 255.0)), luminance(scale_color((i - 1) / 255.0))) << i;
  }
  for (int i = 3; i <= 255; ++i) {
    EXPECT_LT(luminance(scale_color(i / 255.0)), luminance(scale_color((i - 3) / 255.0))) << i;
  }
}

TEST(ReadableOn, ContrastIsEnoughOnTheWholeScale) {
  for (int i = 0; i <= 255; ++i) {
    const Color ground = scale_color(i / 255.0);
    const double a = luminance(ground) + 0.05;
    const double b = luminance(readable_on(ground)) + 0.05;
    EXPECT_GE(std::max(a, b) / std::min(a, b), 4.0) << i;
  }
}

TEST(ScaleBuilder, OrdinaryValuesSetTheTop) {
  ScaleBuilder builder;
  builder.add(0.2, false);
  builder.add(0.9, true);
  builder.add(kNan, false);
  builder.add(std::numeric_limits<double>::infinity(), false);
  const ColorScale scale = builder.scale();
  EXPECT_EQ(scale.top, 0.2);
  EXPECT_EQ(scale.above, 0.9);
  EXPECT_TRUE(scale.is_above(0.9));
  EXPECT_FALSE(scale.is_above(0.2));
  EXPECT_FALSE(scale.is_above(kNan));
  EXPECT_EQ(scale.color(kNan), kNoValue);
  EXPECT_EQ(scale.color(0.1), scale_color(0.5));
  EXPECT_EQ(scale.color(0.9), kAbove);
}

TEST(ScaleBuilder, ScalesOfFlowBeginAtTheLeastWhereAllLieClose) {
  ScaleBuilder builder;
  for (const double value : {0.447, 0.482, 0.46}) builder.add(value, false);
  builder.add(0.0, false, /*seen=*/false);
  EXPECT_EQ(builder.scale().low, 0.0);
  const ColorScale flow = builder.scale(/*of_flow=*/true);
  EXPECT_EQ(flow.low, 0.447);
  EXPECT_EQ(flow.color(0.447), scale_color(0.0));
  EXPECT_EQ(flow.color(0.482), scale_color(1.0));
  builder.add(0.2, false);
  EXPECT_EQ(builder.scale(/*of_flow=*/true).low, 0.0);
}

TEST(ScaleBuilder, FallsBackToWhatThereIs) {
  EXPECT_EQ(ScaleBuilder().scale().top, 1.0);
  ScaleBuilder only_special;
  only_special.add(0.4, true);
  only_special.add(0.0, false);
  EXPECT_EQ(only_special.scale().top, 0.4);
  EXPECT_FALSE(only_special.scale().above);
  ScaleBuilder nearly_equal;
  nearly_equal.add(0.999, false);
  nearly_equal.add(1.0, true);
  EXPECT_EQ(nearly_equal.scale().top, 1.0);
  EXPECT_FALSE(nearly_equal.scale().above);
}

TEST(ColorScale, WithSignsRunsFromRedOverGrayToBlueAndGetsDarkerBothWays) {
  ColorScale scale{.top = 2.0, .above = {}, .has_signs = true};
  const Color against = scale.color(-2.0);
  const Color nothing = scale.color(0.0);
  const Color in_favor = scale.color(2.0);
  EXPECT_GT(against.red, against.blue);
  EXPECT_GT(in_favor.blue, in_favor.red);
  EXPECT_LE(std::abs(int{nothing.red} - int{nothing.blue}), 2);
  for (int step = 0; step < 20; ++step) {
    const double nearer = 0.1 * step;
    const double farther = nearer + 0.1;
    EXPECT_GT(luminance(scale.color(nearer)), luminance(scale.color(farther)));
    EXPECT_GT(luminance(scale.color(-nearer)), luminance(scale.color(-farther)));
  }
  scale.above = 3.0;
  EXPECT_TRUE(scale.is_above(-2.5));
  EXPECT_FALSE(scale.is_above(-1.5));
}

}  // namespace
}  // namespace attnflow::internal::color_scale_test
