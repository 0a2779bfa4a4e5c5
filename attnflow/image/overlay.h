// Overlays a picture with one value per patch.
//
// map_over_picture() computes a value for each pixel, and overlay() converts values to colors and blends them with the
// picture. The caller provides the color scale, which should be perceptually uniform, readable for color-blind people,
// and the one shown in the color bar.
//
// Definition of the map. Pixel (x, y) of a picture drawn w x h stands for the point ((x + 1/2) W / w, (y + 1/2) H / h)
// of the original of W x H pixels; the geometry locates that point in the patch grid. Then
//   kPatches   the value of the patch that sees the point: what was computed, and nothing else;
//   kBilinear  linear between the four nearest patch centers; constant beyond the outermost centers. Smoother, but it
//              shows values between patches that no computation gave. It stays within the range of the values.
// Pixels that no patch sees (cropped, or in a strip narrower than a patch at an edge) have no value: NaN, in both
// cases. A patch of value NaN has no value; neither does any pixel that it would contribute to.
//
// Definition of the overlay. With position t = clamp((v - low) / (high - low), 0, 1) on the scale,
//   pixel' = round((1 - opacity) pixel + opacity color(t)),  where there is a value;
//   pixel' = round((1 - fade) pixel + fade 255),             where there is none, to show what was not seen.
// 8-bit sRGB values are blended, as drawing programs do. `pixel` is the picture's color, or its gray value, over which
// a color scale is easier to read correctly.
//
// Cost: O(w h). Deterministic. Colors are sampled at 4096 positions of the scale.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "attnflow/image/patch_grid.h"
#include "attnflow/image/picture.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

enum class MapInterpolation { kPatches, kBilinear };

struct MapOptions {
  MapInterpolation interpolation = MapInterpolation::kBilinear;
  std::size_t height = 0;  // of the drawing; 0: the picture's own
  std::size_t width = 0;
};

// A grid of patches that covers `seen` of a picture.
struct PlacedGrid {
  Rectangle seen;
  std::size_t picture_height = 0;
  std::size_t picture_width = 0;
};

// values [rows, columns], one per patch -> [height, width].
Tensor<float> map_over_picture(TensorView<const double> values, const PlacedGrid& grid, const MapOptions& options = {});
Tensor<float> map_over_picture(TensorView<const double> values, const PatchGrid& grid, const InputGeometry& geometry,
                               const MapOptions& options = {});

using ColorOfPosition = std::function<std::array<std::uint8_t, 3>(double)>;

enum class PictureTone { kColor, kGrey };

struct OverlayOptions {
  double low = 0.0;   // the value at position 0
  double high = 1.0;  // value at position 1; above low
  double opacity = 0.6;
  PictureTone tone = PictureTone::kColor;
  double fade = 0.7;  // of parts that no patch sees, toward white
};

// `map` is [height, width] of the picture. Throws Error(kUsage) if opacity or fade is outside [0, 1], or if high is not
// above low or not finite.
Picture overlay(const Picture& picture, TensorView<const float> map, const ColorOfPosition& color,
                const OverlayOptions& options = {});

}  // namespace attnflow
