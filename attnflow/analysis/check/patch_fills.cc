#include "attnflow/analysis/check/patch_fills.h"

#include <algorithm>

namespace attnflow::internal {
namespace {

std::size_t area(const PixelBox& box) { return (box.bottom - box.top) * (box.right - box.left); }

}  // namespace

const char* name_of(PatchFill fill) {
  constexpr std::array kNames = {"mean of its neighbors", "mean of the picture",
                                 "interpolated from the pixels around it", "blurred"};
  return kNames[static_cast<std::size_t>(fill)];
}

PatchFiller::PatchFiller(const PixelInput& input, const ImageInfo& info)
    : input_(input),
      patch_height_(info.patch_height),
      patch_width_(info.patch_width),
      height_(input.pixels.extent(1)),
      width_(input.pixels.extent(2)),
      sums_({input.pixels.extent(0), height_ + 1, width_ + 1}) {
  for (std::size_t c = 0; c < input.pixels.extent(0); ++c) {
    for (std::size_t y = 0; y < height_; ++y) {
      for (std::size_t x = 0; x < width_; ++x) {
        sums_(c, y + 1, x + 1) =
            double{input.pixels(c, y, x)} + sums_(c, y, x + 1) + sums_(c, y + 1, x) - sums_(c, y, x);
      }
    }
  }
}

std::optional<PixelInput> PatchFiller::filled(const PixelBox& box, PatchFill fill) const {
  const bool needs_surroundings = fill == PatchFill::kInterpolated || fill == PatchFill::kNeighbors;
  if (needs_surroundings && area(box) == height_ * width_) return std::nullopt;
  PixelInput result{.pixels = input_.pixels};
  for (std::size_t c = 0; c < result.pixels.extent(0); ++c) {
    for (std::size_t y = box.top; y < box.bottom; ++y) {
      for (std::size_t x = box.left; x < box.right; ++x) result.pixels(c, y, x) = value(box, fill, c, y, x);
    }
  }
  return result;
}

float PatchFiller::value(const PixelBox& box, PatchFill fill, std::size_t channel, std::size_t row,
                         std::size_t column) const {
  const auto mean = [&](const PixelBox& part) {
    return static_cast<float>(sum(channel, part) / static_cast<double>(area(part)));
  };
  switch (fill) {
    case PatchFill::kInterpolated:
      return interpolated(box, channel, row, column);
    case PatchFill::kNeighbors: {
      const PixelBox around = grown(box, patch_height_, patch_width_);
      return static_cast<float>((sum(channel, around) - sum(channel, box)) /
                                static_cast<double>(area(around) - area(box)));
    }
    case PatchFill::kBlurred:
      return mean(grown({row, column, row + 1, column + 1}, patch_height_, patch_width_));
    case PatchFill::kPicture:
      break;
  }
  return mean({0, 0, height_, width_});
}

float PatchFiller::interpolated(const PixelBox& box, std::size_t channel, std::size_t row, std::size_t column) const {
  double weights = 0.0;
  double total = 0.0;
  const auto add = [&](std::size_t y, std::size_t x, std::size_t distance) {
    const double weight = 1.0 / static_cast<double>(distance);
    weights += weight;
    total += weight * double{input_.pixels(channel, y, x)};
  };
  if (box.top > 0) add(box.top - 1, column, row - box.top + 1);
  if (box.bottom < height_) add(box.bottom, column, box.bottom - row);
  if (box.left > 0) add(row, box.left - 1, column - box.left + 1);
  if (box.right < width_) add(row, box.right, box.right - column);
  return static_cast<float>(total / weights);
}

double PatchFiller::sum(std::size_t channel, const PixelBox& box) const {
  return sums_(channel, box.bottom, box.right) - sums_(channel, box.top, box.right) -
         sums_(channel, box.bottom, box.left) + sums_(channel, box.top, box.left);
}

PixelBox PatchFiller::grown(const PixelBox& box, std::size_t rows, std::size_t columns) const {
  return {box.top - std::min(box.top, rows), box.left - std::min(box.left, columns),
          std::min(height_, box.bottom + rows), std::min(width_, box.right + columns)};
}

}  // namespace attnflow::internal
