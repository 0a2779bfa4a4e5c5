#include "attnflow/image/patch_grid.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "attnflow/image/golden_pictures_for_test.h"

namespace attnflow::patch_grid_test {
namespace {

InputGeometry cropped() {
  ImageProcessor processor{.size = {0, 0, 256, 0}, .do_center_crop = true, .crop_height = 230, .crop_width = 224};
  return input_geometry(480, 640, processor);
}

TEST(PatchGridTest, WholePatchesOnly) {
  const PatchGrid grid = patch_grid(cropped(), 14, 16);
  EXPECT_EQ(grid.rows, 16U);
  EXPECT_EQ(grid.columns, 14U);
  EXPECT_EQ(grid.height(), 224U);  // a remainder of 6 rows of pixels
  EXPECT_EQ(grid.width(), 224U);
}

TEST(PatchGridTest, CoversWhatIsSeenUpToTheRemainder) {
  const InputGeometry geometry = cropped();
  const Rectangle all = grid_rectangle(patch_grid(geometry, 14, 16), geometry);
  EXPECT_DOUBLE_EQ(all.left, geometry.seen().left);
  EXPECT_DOUBLE_EQ(all.right, geometry.seen().right);
  EXPECT_DOUBLE_EQ(all.top, geometry.seen().top);
  EXPECT_DOUBLE_EQ(all.bottom - all.top, (geometry.seen().bottom - all.top) * 224 / 230);
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
