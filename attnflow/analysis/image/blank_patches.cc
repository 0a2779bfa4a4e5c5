#include "attnflow/analysis/image/blank_patches.h"

#include <algorithm>

namespace attnflow {

void blank_patches(PixelInput& input, const ReportImage& grid, const ImageInfo& info,
                   std::span<const std::size_t> patches, std::span<const float> color) {
  const std::size_t height = input.pixels.extent(1);
  const std::size_t width = input.pixels.extent(2);
  for (const std::size_t patch : patches) {
    const std::size_t top = patch / grid.columns * info.patch_height;
    const std::size_t left = patch % grid.columns * info.patch_width;
    for (std::size_t c = 0; c < info.channels; ++c) {
      for (std::size_t y = top; y < top + info.patch_height; ++y) {
        std::fill_n(input.pixels.data() + (c * height + y) * width + left, info.patch_width, color[c]);
      }
    }
  }
}

}  // namespace attnflow
