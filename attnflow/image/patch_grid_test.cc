#include "attnflow/image/patch_grid.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "attnflow/image/golden_pictures_for_test.h"

namespace attnflow::patch_grid_test {
namespace {

// 640 x 480 -> 341 x 256 -> 224 x 230 from the middle.
InputGeometry cropped() {
  ImageProcessor processor;
  processor.size = {0, 0, 256, 0};
  processor.do_center_crop = true;
  processor.crop_height = 230;
  processor.crop_width = 224;
  return input_geometry(480, 640, processor);
}

TEST(PatchGridTest, WholePatchesOnly) {
  const PatchGrid grid = patch_grid(cropped(), 14, 16);
  EXPECT_EQ(grid.rows, 16U);
  EXPECT_EQ(grid.columns, 14U);
  EXPECT_EQ(grid.height(), 224U);  // a remainder of 6 rows of pixels
  EXPECT_EQ(grid.width(), 224U);
}

TEST(PatchGridTest, PatchesTileWhatIsSeen) {
  const InputGeometry geometry = cropped();
  const PatchGrid grid = patch_grid(geometry, 14, 16);
  const Rectangle all = grid_rectangle(grid, geometry);
  EXPECT_DOUBLE_EQ(all.left, geometry.seen().left);
  EXPECT_DOUBLE_EQ(all.right, geometry.seen().right);
  EXPECT_DOUBLE_EQ(all.top, geometry.seen().top);
  EXPECT_LT(all.bottom, geometry.seen().bottom);
  EXPECT_DOUBLE_EQ(patch_rectangle(grid, geometry, {0, 0}).left, all.left);
  EXPECT_DOUBLE_EQ(patch_rectangle(grid, geometry, {15, 13}).bottom, all.bottom);
  for (std::size_t r = 0; r < grid.rows; ++r) {
    for (std::size_t c = 0; c < grid.columns; ++c) {
      const Rectangle patch = patch_rectangle(grid, geometry, {r, c});
      if (c + 1 < grid.columns) {
        EXPECT_EQ(patch.right, patch_rectangle(grid, geometry, {r, c + 1}).left);
      }
      if (r + 1 < grid.rows) {
        EXPECT_EQ(patch.bottom, patch_rectangle(grid, geometry, {r + 1, c}).top);
      }
      const auto found = patch_at(grid, geometry, (patch.left + patch.right) / 2, (patch.top + patch.bottom) / 2);
      EXPECT_EQ(found, (Patch{r, c}));
    }
  }
}

TEST(PatchGridTest, PointsThatNoPatchSees) {
  const InputGeometry geometry = cropped();
  const PatchGrid grid = patch_grid(geometry, 14, 16);
  const Rectangle all = grid_rectangle(grid, geometry);
  EXPECT_FALSE(patch_at(grid, geometry, all.left - 0.01, 200));
  EXPECT_FALSE(patch_at(grid, geometry, all.right, 200));
  EXPECT_FALSE(patch_at(grid, geometry, 300, all.bottom + 0.01));
  EXPECT_FALSE(patch_at(grid, geometry, 300, all.top - 0.01));
  EXPECT_FALSE(patch_at(grid, geometry, std::numeric_limits<double>::quiet_NaN(), 200));
  EXPECT_EQ(patch_at(grid, geometry, all.left, all.top), (Patch{0, 0}));
}

TEST(PatchGridTest, RefusesInputsSmallerThanAPatch) {
  for (const auto& [height, width] :
       std::vector<std::pair<std::size_t, std::size_t>>{{0, 16}, {16, 0}, {231, 16}, {16, 225}}) {
    test::expect_error(ErrorKind::kUsage, {"224 x 230", "at least one patch"},
                       [&, h = height, w = width] { patch_grid(cropped(), h, w); });
  }
}

TEST(PatchGridTest, PixelsOfWholePatches) {
  Tensor<float> values({2, 5, 7});
  for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = static_cast<float>(i);
  const Tensor<float> whole = whole_patches(std::as_const(values).view(), {2, 2, 2, 3});
  ASSERT_EQ(whole.shape(), (Shape{2, 4, 6}));
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t y = 0; y < 4; ++y) {
      for (std::size_t x = 0; x < 6; ++x) EXPECT_EQ(whole(c, y, x), values(c, y, x));
    }
  }
}

}  // namespace
}  // namespace attnflow::patch_grid_test
