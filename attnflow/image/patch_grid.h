// Where the patches of a vision transformer lie in the picture.
//
// Definition. An input of h x w pixels (image_processor.h) is cut into patches of p_h x p_w pixels that do not overlap:
// R = floor(h / p_h) rows of C = floor(w / p_w) patches. Patch (r, c) covers the input pixels
//   [c p_w, (c + 1) p_w] x [r p_h, (r + 1) p_h],
// and in the picture the rectangle that InputGeometry maps these to. What is left over on the right and below, less
// than a patch, is seen by no patch: the convolution that makes patches passes over it.
#ifndef ATTNFLOW_IMAGE_PATCH_GRID_H_
#define ATTNFLOW_IMAGE_PATCH_GRID_H_

#include <cstddef>
#include <optional>

#include "attnflow/image/image_processor.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

struct PatchGrid {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t patch_height = 0;  // in input pixels
  std::size_t patch_width = 0;

  std::size_t height() const { return rows * patch_height; }  // in input pixels, whole patches only
  std::size_t width() const { return columns * patch_width; }
};

struct Patch {
  std::size_t row = 0;
  std::size_t column = 0;

  friend bool operator==(const Patch&, const Patch&) = default;
};

// The grid over an input of this geometry. Throws Error(kUsage): a patch side of 0, or an input smaller than one patch.
PatchGrid patch_grid(const InputGeometry& geometry, std::size_t patch_height, std::size_t patch_width);

// What a patch covers, and what all of them cover, in pixels of the picture. Reaches beyond the picture where black was
// put around it.
Rectangle patch_rectangle(const PatchGrid& grid, const InputGeometry& geometry, const Patch& patch);
Rectangle grid_rectangle(const PatchGrid& grid, const InputGeometry& geometry);

// The patch that sees the point (x, y) of the picture; none outside of the grid. Left and upper edges belong to a
// patch.
std::optional<Patch> patch_at(const PatchGrid& grid, const InputGeometry& geometry, double x, double y);

// [channels, input_height, input_width] without what is left over: [channels, grid.height(), grid.width()], from which
// a model makes the same patches.
Tensor<float> whole_patches(TensorView<const float> pixel_values, const PatchGrid& grid);

}  // namespace attnflow

#endif  // ATTNFLOW_IMAGE_PATCH_GRID_H_
