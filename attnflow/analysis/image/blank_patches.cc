#include "attnflow/analysis/image/blank_patches.h"

#include <algorithm>
#include <utility>

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

ImageQuestion image_question(VisionModel& model, const PixelInput& input, const ReportImage& grid,
                             const std::vector<InputToken>& tokens, const ScoreTarget& target, std::vector<float> color,
                             std::string blank) {
  ImageQuestion question{.model = model,
                         .input = input,
                         .target = target,
                         .groups = single_tokens(tokens.size()),
                         .blanked = {},
                         .blank = std::move(blank),
                         .content = {}};
  const ImageInfo& info = *model.info().image;
  question.blanked = [&input, &grid, &info, color = std::move(color)](const std::vector<std::size_t>& positions) {
    std::vector<std::size_t> patches;  // those of other tokens stay as they are
    for (const std::size_t position : positions) {
      const std::size_t patch = position - grid.first_patch;
      if (position >= grid.first_patch && patch < grid.rows * grid.columns) patches.push_back(patch);
    }
    PixelInput blanked{.pixels = input.pixels};
    blank_patches(blanked, grid, info, patches, color);
    return blanked;
  };
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    if (!tokens[t].special) question.content.push_back(t);
  }
  return question;
}

}  // namespace attnflow
