#include "attnflow/image/overlay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attnflow/base/random.h"
#include "attnflow/image/encode_png.h"
#include "attnflow/image/golden_pictures_for_test.h"

namespace attnflow::overlay_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

InputGeometry plain_geometry(std::size_t height, std::size_t width) {
  ImageProcessor processor{.do_resize = false};
  return input_geometry(height, width, processor);
}

Tensor<double> random_values(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  Random random(seed);
  Tensor<double> values({rows, columns});
  for (double& value : values.span()) value = random.uniform();
  return values;
}

std::array<std::uint8_t, 3> ramp(double position) {
  const auto level = static_cast<std::uint8_t>(std::lround(255 * position));
  return {level, 0, static_cast<std::uint8_t>(255 - level)};
}

TEST(OverlayTest, PatchExactMapsRepeatTheValues) {
  const InputGeometry geometry = plain_geometry(4, 6);
  const PatchGrid grid = patch_grid(geometry, 2, 2);
  const Tensor<double> values = random_values(2, 3, 1);
  const Tensor<float> map = map_over_picture(values.view(), grid, geometry, {MapInterpolation::kPatches, 0, 0});
  ASSERT_EQ(map.shape(), (Shape{4, 6}));
  for (std::size_t y = 0; y < 4; ++y) {
    for (std::size_t x = 0; x < 6; ++x) EXPECT_EQ(map(y, x), static_cast<float>(values(y / 2, x / 2)));
  }
}

TEST(OverlayTest, MapsFollowTheGeometry) {
  ImageProcessor processor;
  processor.size = {0, 0, 40, 0};
  processor.do_center_crop = true;
  processor.crop_height = 34;
  processor.crop_width = 50;  // wider than part of the resized picture
  for (const auto& [height, width] : std::vector<std::pair<std::size_t, std::size_t>>{{53, 90}, {61, 44}}) {
    const InputGeometry geometry = input_geometry(height, width, processor);
    const PatchGrid grid = patch_grid(geometry, 8, 8);
    const Tensor<double> values = random_values(grid.rows, grid.columns, height);
    const std::size_t drawn_height = 101;
    const std::size_t drawn_width = 77;
    const auto exact =
        map_over_picture(values.view(), grid, geometry, {MapInterpolation::kPatches, drawn_height, drawn_width});
    const auto smooth =
        map_over_picture(values.view(), grid, geometry, {MapInterpolation::kBilinear, drawn_height, drawn_width});
    std::size_t unseen = 0;
    for (std::size_t y = 0; y < drawn_height; ++y) {
      for (std::size_t x = 0; x < drawn_width; ++x) {
        const double px = (static_cast<double>(x) + 0.5) * static_cast<double>(width) / 77.0;
        const double py = (static_cast<double>(y) + 0.5) * static_cast<double>(height) / 101.0;
        const Rectangle all = grid_rectangle(grid, geometry);
        const double row = (py - all.top) / (all.bottom - all.top) * static_cast<double>(grid.rows);
        const double column = (px - all.left) / (all.right - all.left) * static_cast<double>(grid.columns);
        if (!(row >= 0 && row < static_cast<double>(grid.rows) && column >= 0 &&
              column < static_cast<double>(grid.columns))) {
          ++unseen;
          EXPECT_TRUE(std::isnan(exact(y, x)) && std::isnan(smooth(y, x)));
          continue;
        }
        EXPECT_EQ(exact(y, x),
                  static_cast<float>(values(static_cast<std::size_t>(row), static_cast<std::size_t>(column))));
        // Bilinear interpolation sums value times tent over all patches; the outermost tents are open to the outside.
        double sum = 0.0;
        double weights = 0.0;
        for (std::size_t r = 0; r < grid.rows; ++r) {
          for (std::size_t c = 0; c < grid.columns; ++c) {
            const auto tent = [](double place, std::size_t i, std::size_t n) {
              const double offset = place - static_cast<double>(i) - 0.5;
              if ((i == 0 && offset < 0) || (i + 1 == n && offset > 0)) return 1.0;
              return std::max(0.0, 1.0 - std::fabs(offset));
            };
            const double weight = tent(column, c, grid.columns) * tent(row, r, grid.rows);
            sum += weight * values(r, c);
            weights += weight;
          }
        }
        EXPECT_NEAR(weights, 1.0, 1e-9);
        EXPECT_NEAR(smooth(y, x), sum, 1e-6);
      }
    }
    EXPECT_GT(unseen, 0U);
  }
}

TEST(OverlayTest, PatchesWithoutAValueHaveNone) {
  const InputGeometry geometry = plain_geometry(4, 6);
  const PatchGrid grid = patch_grid(geometry, 2, 2);
  Tensor<double> values({2, 3});
  values(0, 1) = kNan;
  const auto map = map_over_picture(std::as_const(values).view(), grid, geometry, {MapInterpolation::kPatches, 0, 0});
  EXPECT_TRUE(std::isnan(map(0, 2)) && std::isnan(map(1, 3)));
  EXPECT_EQ(map(0, 1), 0.0F);
  EXPECT_EQ(map(2, 2), 0.0F);
  const auto smooth = map_over_picture(std::as_const(values).view(), grid, geometry);
  EXPECT_TRUE(std::isnan(smooth(0, 2)));
  EXPECT_EQ(smooth(3, 0), 0.0F);  // without a contribution from the missing one
}

TEST(OverlayTest, BlendsByTheFormula) {
  const Picture picture = test::plain_picture(1, 4, 100, 200, 50);
  Tensor<float> map({1, 4}, {0.0F, 0.5F, 9.0F, std::numeric_limits<float>::quiet_NaN()});
  OverlayOptions options{.low = 0.0, .high = 1.0, .opacity = 0.25, .fade = 0.5};
  const Picture blended = overlay(picture, std::as_const(map).view(), ramp, options);
  const auto pixel = [&](std::size_t x) {
    return std::array<int, 3>{blended.rgb(0, x, 0), blended.rgb(0, x, 1), blended.rgb(0, x, 2)};
  };
  EXPECT_EQ(pixel(0), (std::array<int, 3>{75, 150, 101}));   // color (0, 0, 255)
  EXPECT_EQ(pixel(1), (std::array<int, 3>{107, 150, 69}));   // (128, 0, 127)
  EXPECT_EQ(pixel(2), (std::array<int, 3>{139, 150, 38}));   // above the scale: its end, (255, 0, 0)
  EXPECT_EQ(pixel(3), (std::array<int, 3>{178, 228, 153}));  // faded
  options.tone = PictureTone::kGrey;
  options.opacity = 0.0;
  const Picture grey = overlay(picture, std::as_const(map).view(), ramp, options);
  EXPECT_EQ(grey.rgb(0, 0, 0), 153);  // 0.299 100 + 0.587 200 + 0.114 50
  EXPECT_EQ(grey.rgb(0, 0, 2), 153);
}

TEST(OverlayTest, RefusesScalesThatAreNone) {
  const Picture picture = test::plain_picture(1, 1, 0, 0, 0);
  const Tensor<float> map({1, 1});
  const auto refused = [&](const OverlayOptions& options, const std::string& words) {
    test::expect_error(ErrorKind::kUsage, {words}, [&] { overlay(picture, map.view(), ramp, options); });
  };
  refused({.opacity = 1.5}, "opacity");
  refused({.fade = kNan}, "fade");
  refused({.low = 1.0}, "lower to a higher");
  refused({.low = kNan}, "lower to a higher");
}

TEST(EncodePngTest, ReadsBackAndIsTheSameEachTime) {
  const Picture picture = read_picture(test::pictures_folder() / "jpeg_420.jpg");
  const std::string bytes = encode_png(picture);
  EXPECT_EQ(bytes, encode_png(picture));
  const Picture again = decode_picture(test::as_bytes(bytes), "again");
  EXPECT_EQ(again.rgb, picture.rgb);
  EXPECT_EQ(again.origin.mode, "RGB");
  for (const char* const chunk : {"tIME", "tEXt", "eXIf"}) EXPECT_EQ(bytes.find(chunk), std::string::npos);
}

TEST(EncodePngTest, RefusesSidesThatReadersRefuse) {
  test::expect_error(ErrorKind::kOther, {"1000000 pixels per side", "1000001 x 1"},
                     [] { encode_png(test::plain_picture(1, 1000001, 0, 0, 0)); });
}

}  // namespace
}  // namespace attnflow::overlay_test
