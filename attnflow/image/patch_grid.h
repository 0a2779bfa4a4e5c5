// Locates the patches of a vision transformer in the picture.
//
// Definition. An input of h x w pixels (image_processor.h) is cut into non-overlapping patches of p_h x p_w pixels: R =
// floor(h / p_h) rows of C = floor(w / p_w) patches. Patch (r, c) covers the input pixels
//   [c p_w, (c + 1) p_w] x [r p_h, (r + 1) p_h],
// and, in the picture, the rectangle that InputGeometry maps these to. The remainder on the right and at the bottom,
// less than a patch, is seen by no patch: the convolution that makes patches skips it.
#pragma once

#include <cstddef>

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

// Returns the grid over an input of this geometry. Throws Error(kUsage) for a patch side of 0, or an input smaller than
// one patch.
PatchGrid patch_grid(const InputGeometry& geometry, std::size_t patch_height, std::size_t patch_width);

// The area covered by all patches, in pixels of the picture. Extends beyond the picture if it was padded with black.
Rectangle grid_rectangle(const PatchGrid& grid, const InputGeometry& geometry);

// Removes the remainder from [channels, input_height, input_width], giving [channels, grid.height(), grid.width()],
// from which a model makes the same patches.
Tensor<float> whole_patches(TensorView<const float> pixel_values, const PatchGrid& grid);

}  // namespace attnflow
