#include "attnflow/image/patch_grid.h"

#include <algorithm>
#include <cassert>

#include "attnflow/base/fail.h"

namespace attnflow {

PatchGrid patch_grid(const InputGeometry& geometry, std::size_t patch_height, std::size_t patch_width) {
  if (patch_height == 0 || patch_width == 0 || patch_height > geometry.input_height ||
      patch_width > geometry.input_width) {
    fail_with(ErrorKind::kUsage,
              "expected an input of at least one patch, found one of {} x {} pixels for patches of {} x "
              "{} (width x height): the model's preprocessor_config.json and config.json do not match",
              geometry.input_width, geometry.input_height, patch_width, patch_height);
  }
  return {geometry.input_height / patch_height, geometry.input_width / patch_width, patch_height, patch_width};
}

Rectangle grid_rectangle(const PatchGrid& grid, const InputGeometry& geometry) {
  return geometry.in_picture({0.0, 0.0, static_cast<double>(grid.width()), static_cast<double>(grid.height())});
}

Tensor<float> whole_patches(TensorView<const float> pixel_values, const PatchGrid& grid) {
  assert(pixel_values.rank() == 3);
  assert(grid.height() <= pixel_values.extent(1) && grid.width() <= pixel_values.extent(2));
  Tensor<float> whole({pixel_values.extent(0), grid.height(), grid.width()});
  float* out = whole.data();
  for (std::size_t c = 0; c < pixel_values.extent(0); ++c) {
    for (std::size_t y = 0; y < grid.height(); ++y) {
      const float* const in = pixel_values.data() + (c * pixel_values.extent(1) + y) * pixel_values.extent(2);
      out = std::copy_n(in, grid.width(), out);
    }
  }
  return whole;
}

}  // namespace attnflow
