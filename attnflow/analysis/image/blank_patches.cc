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

namespace {

// The mean color of each patch, and of removed ones as it becomes known.
class SpreadColors {
 public:
  SpreadColors(const PixelInput& input, const ReportImage& grid, const ImageInfo& info,
               std::span<const std::size_t> removed)
      : grid_(grid), colors_(grid.rows * grid.columns) {
    std::vector<bool> stays(colors_.size(), true);
    for (const std::size_t patch : removed) stays[patch] = false;
    for (std::size_t p = 0; p < colors_.size(); ++p) {
      if (stays[p]) colors_[p] = mean_of(input, info, p);
    }
  }

  bool knows_any() const {
    return std::any_of(colors_.begin(), colors_.end(), [](const auto& color) { return !color.empty(); });
  }
  const std::vector<float>& color(std::size_t patch) const { return colors_[patch]; }

  // One step outward: returns the patches, of these, that got their color.
  std::vector<std::size_t> step(std::span<const std::size_t> missing) {
    std::vector<std::pair<std::size_t, std::vector<float>>> found;
    for (const std::size_t patch : missing) {
      if (std::vector<float> color = mean_of_neighbors(patch); !color.empty()) found.emplace_back(patch, color);
    }
    std::vector<std::size_t> patches;
    for (auto& [patch, color] : found) {
      colors_[patch] = std::move(color);
      patches.push_back(patch);
    }
    return patches;
  }

 private:
  std::vector<float> mean_of(const PixelInput& input, const ImageInfo& info, std::size_t patch) const {
    std::vector<float> means;
    for (std::size_t c = 0; c < info.channels; ++c) {
      double sum = 0.0;
      for (std::size_t y = 0; y < info.patch_height; ++y) {
        for (std::size_t x = 0; x < info.patch_width; ++x) {
          sum += double{input.pixels(c, patch / grid_.columns * info.patch_height + y,
                                     patch % grid_.columns * info.patch_width + x)};
        }
      }
      means.push_back(static_cast<float>(sum / static_cast<double>(info.patch_height * info.patch_width)));
    }
    return means;
  }

  // The known ones among the eight around it; may be empty.
  std::vector<float> mean_of_neighbors(std::size_t patch) const {
    const std::size_t row = patch / grid_.columns;
    const std::size_t column = patch % grid_.columns;
    std::vector<float> sums;
    float count = 0.0F;
    for (std::size_t r = row - std::min<std::size_t>(row, 1); r < std::min(row + 2, grid_.rows); ++r) {
      for (std::size_t c = column - std::min<std::size_t>(column, 1); c < std::min(column + 2, grid_.columns); ++c) {
        const std::vector<float>& other = colors_[r * grid_.columns + c];
        if (other.empty()) continue;
        sums.resize(other.size(), 0.0F);
        for (std::size_t k = 0; k < other.size(); ++k) sums[k] += other[k];
        count += 1.0F;
      }
    }
    for (float& sum : sums) sum /= count;
    return sums;
  }

  const ReportImage& grid_;
  std::vector<std::vector<float>> colors_;  // [patch][channel]; empty: not known
};

}  // namespace

void spread_neighbors(PixelInput& input, const ReportImage& grid, const ImageInfo& info,
                      std::span<const std::size_t> patches, std::span<const float> color) {
  SpreadColors colors(input, grid, info, patches);
  if (!colors.knows_any()) return blank_patches(input, grid, info, patches, color);
  std::vector<std::size_t> missing(patches.begin(), patches.end());
  while (!missing.empty()) {
    for (const std::size_t patch : colors.step(missing)) {
      blank_patches(input, grid, info, std::span(&patch, 1), colors.color(patch));
      std::erase(missing, patch);
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
  question.grid = &grid;
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
