#include "attnflow/image/patch_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "attnflow/base/error.h"

namespace attnflow {

PatchGrid patch_grid(const InputGeometry& geometry, std::size_t patch_height, std::size_t patch_width) {
  if (patch_height == 0 || patch_width == 0 || patch_height > geometry.input_height ||
      patch_width > geometry.input_width) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected an input of at least one patch, found one of {} x {} pixels for patches of {} x "
                            "{} (width x height): the model's preprocessor_config.json and config.json do not match",
                            geometry.input_width, geometry.input_height, patch_width, patch_height));
  }
  return {geometry.input_height / patch_height, geometry.input_width / patch_width, patch_height, patch_width};
}

Rectangle patch_rectangle(const PatchGrid& grid, const InputGeometry& geometry, const Patch& patch) {
  assert(patch.row < grid.rows && patch.column < grid.columns);
  const auto edge = [](std::size_t index, std::size_t size) { return static_cast<double>(index * size); };
  return geometry.in_picture({edge(patch.column, grid.patch_width), edge(patch.row, grid.patch_height),
                              edge(patch.column + 1, grid.patch_width), edge(patch.row + 1, grid.patch_height)});
}

Rectangle grid_rectangle(const PatchGrid& grid, const InputGeometry& geometry) {
  return geometry.in_picture({0.0, 0.0, static_cast<double>(grid.width()), static_cast<double>(grid.height())});
}

std::optional<Patch> patch_at(const PatchGrid& grid, const InputGeometry& geometry, double x, double y) {
  const Rectangle all = grid_rectangle(grid, geometry);
  if (!(x >= all.left && x < all.right && y >= all.top && y < all.bottom)) return std::nullopt;
  const auto index = [](double at, double begin, double end, std::size_t count) {
    const auto i = static_cast<std::size_t>((at - begin) / (end - begin) * static_cast<double>(count));
    return std::min(i, count - 1);  // rounding at the far edge
  };
  return Patch{index(y, all.top, all.bottom, grid.rows), index(x, all.left, all.right, grid.columns)};
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
