// A value for each patch, laid over the picture.
//
// Two steps. map_over_picture() makes a value for each pixel; overlay() gives values colours and mixes them with the
// picture. The colours come from the caller: a perceptually uniform scale that colour-blind readers can read, the same
// that its colour bar shows.
//
// Definition of the map. Pixel (x, y) of a picture drawn w x h stands for the point ((x + 1/2) W / w, (y + 1/2) H / h)
// of the original of W x H pixels; the geometry says where in the patch grid that is. Then
//   kPatches   the value of the patch that sees the point: what was computed, and nothing else;
//   kBilinear  linear between the four nearest centres of patches; constant beyond the outermost centres. Smoother, but
//              it shows values between patches that no computation gave. It keeps the range of the values.
// Pixels that no patch sees (cut off by the crop, or less than a patch at an edge) have no value: NaN, in either way.
// A value of NaN means that there is none for a patch; every pixel that it would take part in has none.
//
// Definition of the overlay. With position t = clamp((v - low) / (high - low), 0, 1) on the scale,
//   pixel' = round((1 - opacity) pixel + opacity colour(t)),  where there is a value;
//   pixel' = round((1 - fade) pixel + fade 255),              where there is none, so that it shows what was not seen.
// Mixed are the 8-bit values of sRGB, as programs for drawing do it. `pixel` is the picture's colour, or its grey, over
// which a coloured scale reads truer.
//
// Cost: O(w h). Deterministic. Colours are taken at 4096 positions of the scale.
#ifndef ATTNFLOW_IMAGE_OVERLAY_H_
#define ATTNFLOW_IMAGE_OVERLAY_H_

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
  std::size_t height = 0;  // to draw in; 0: the picture's own
  std::size_t width = 0;
};

// A grid of patches that lies over `seen` of a picture.
struct PlacedGrid {
  Rectangle seen;
  std::size_t picture_height = 0;
  std::size_t picture_width = 0;
};

// values [rows, columns], one for each patch -> [height, width].
Tensor<float> map_over_picture(TensorView<const double> values, const PlacedGrid& grid, const MapOptions& options = {});
Tensor<float> map_over_picture(TensorView<const double> values, const PatchGrid& grid, const InputGeometry& geometry,
                               const MapOptions& options = {});

// The sRGB colour at a position in [0, 1] of a scale.
using ColorOfPosition = std::function<std::array<std::uint8_t, 3>(double)>;

enum class PictureTone { kColor, kGrey };

struct OverlayOptions {
  double low = 0.0;   // the value at position 0
  double high = 1.0;  // at position 1; above low
  double opacity = 0.6;
  PictureTone tone = PictureTone::kColor;
  double fade = 0.7;  // of what no patch sees, towards white
};

// `map` [height, width] of the picture. Throws Error(kUsage): opacity or fade outside [0, 1]; high not above low, or
// not finite.
Picture overlay(const Picture& picture, TensorView<const float> map, const ColorOfPosition& color,
                const OverlayOptions& options = {});

}  // namespace attnflow

#endif  // ATTNFLOW_IMAGE_OVERLAY_H_
