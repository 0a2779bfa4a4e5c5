#include "attnflow/image/overlay.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "attnflow/base/fail.h"
#include "attnflow/image/resize.h"

namespace attnflow {
namespace {

// The patches along one side from which a pixel takes its value: `weight` of `second`, the rest from `first`.
struct Source {
  bool seen = false;
  std::size_t first = 0;
  std::size_t second = 0;
  double weight = 0.0;
};

struct Side {
  std::size_t pixels = 0;  // drawn
  double original = 0.0;   // the picture's extent
  double begin = 0.0;      // of the grid, in the picture
  double end = 0.0;
  std::size_t patches = 0;
};

std::vector<Source> sources_of(const Side& side, MapInterpolation interpolation) {
  std::vector<Source> sources(side.pixels);
  const auto patches = static_cast<double>(side.patches);
  for (std::size_t i = 0; i < side.pixels; ++i) {
    const double point = (static_cast<double>(i) + 0.5) * side.original / static_cast<double>(side.pixels);
    if (!(point >= side.begin && point < side.end)) continue;
    Source& source = sources[i];
    source.seen = true;
    const double place = (point - side.begin) / (side.end - side.begin) * patches;  // in patches
    if (interpolation == MapInterpolation::kPatches) {
      source.first = source.second = std::min(static_cast<std::size_t>(place), side.patches - 1);
      continue;
    }
    const double between = std::clamp(place - 0.5, 0.0, patches - 1.0);  // 0 is the first patch's center
    source.first = std::min(static_cast<std::size_t>(between), side.patches - 1);
    source.second = std::min(source.first + 1, side.patches - 1);
    source.weight = between - static_cast<double>(source.first);
  }
  return sources;
}

// A weight of 0 contributes nothing, not even NaN.
double mix(double first, double second, double weight) {
  return weight == 0.0 ? first : (1.0 - weight) * first + weight * second;
}

std::uint8_t mixed(double share, double base, double top) {
  return static_cast<std::uint8_t>(std::lround((1.0 - share) * base + share * top));
}

void check(const OverlayOptions& options) {
  for (const double share : {options.opacity, options.fade}) {
    if (!(share >= 0.0 && share <= 1.0)) {
      fail_with(ErrorKind::kUsage, "expected an opacity and a fade from 0 to 1, found {} and {}", options.opacity,
                options.fade);
    }
  }
  const bool ordered = std::isfinite(options.low) && std::isfinite(options.high) && options.low < options.high;
  if (!ordered) {
    fail_with(ErrorKind::kUsage, "expected a scale from a lower to a higher value, found {} to {}", options.low,
              options.high);
  }
}

}  // namespace

Tensor<float> map_over_picture(TensorView<const double> values, const PatchGrid& grid, const InputGeometry& geometry,
                               const MapOptions& options) {
  assert(values.rank() == 2 && values.extent(0) == grid.rows && values.extent(1) == grid.columns);
  return map_over_picture(values, {grid_rectangle(grid, geometry), geometry.picture_height, geometry.picture_width},
                          options);
}

Tensor<float> map_over_picture(TensorView<const double> values, const PlacedGrid& grid, const MapOptions& options) {
  assert(values.rank() == 2);
  const std::size_t height = options.height != 0 ? options.height : grid.picture_height;
  const std::size_t width = options.width != 0 ? options.width : grid.picture_width;
  const Rectangle& all = grid.seen;
  const std::vector<Source> rows = sources_of(
      {height, static_cast<double>(grid.picture_height), all.top, all.bottom, values.extent(0)}, options.interpolation);
  const std::vector<Source> columns = sources_of(
      {width, static_cast<double>(grid.picture_width), all.left, all.right, values.extent(1)}, options.interpolation);

  Tensor<float> map({height, width});
  float* out = map.data();
  for (const Source& row : rows) {
    for (const Source& column : columns) {
      const auto along = [&](std::size_t r) {
        return mix(values(r, column.first), values(r, column.second), column.weight);
      };
      *out++ = row.seen && column.seen ? static_cast<float>(mix(along(row.first), along(row.second), row.weight))
                                       : std::numeric_limits<float>::quiet_NaN();
    }
  }
  return map;
}

Picture overlay(const Picture& picture, TensorView<const float> map, const ColorOfPosition& color,
                const OverlayOptions& options) {
  check(options);
  assert(map.rank() == 2 && map.extent(0) == picture.height() && map.extent(1) == picture.width());
  constexpr std::size_t kPositions = 4096;
  constexpr double kLast = kPositions - 1;
  std::vector<std::array<std::uint8_t, 3>> colors(kPositions);
  for (std::size_t i = 0; i < kPositions; ++i) colors[i] = color(static_cast<double>(i) / kLast);

  const bool grey = options.tone == PictureTone::kGrey;
  const Tensor<std::uint8_t> greys = grey ? to_grey(picture.rgb.view()) : Tensor<std::uint8_t>();
  Picture result{.rgb = Tensor<std::uint8_t>(picture.rgb.shape())};
  for (std::size_t i = 0; i < map.size(); ++i) {
    const double value = map.data()[i];
    const bool has_value = !std::isnan(value);
    const double position = std::clamp((value - options.low) / (options.high - options.low), 0.0, 1.0);
    const std::size_t index = has_value ? static_cast<std::size_t>(std::lround(position * kLast)) : 0;
    for (std::size_t c = 0; c < 3; ++c) {
      const double base = grey ? greys.data()[i] : picture.rgb.data()[3 * i + c];
      result.rgb.data()[3 * i + c] =
          has_value ? mixed(options.opacity, base, colors[index][c]) : mixed(options.fade, base, 255.0);
    }
  }
  return result;
}

}  // namespace attnflow
