// Figures of a picture's report: maps of what an output token drew on, laid over the picture.
//
// Views:
//   overlay   a map over the picture for each method: the last layer computed, or the requested one
//   layers    a row of small maps for each method, one for each layer, on one scale
//   overview  overlay above layers
//
// Colors go from 0 to the largest value of a patch in the panel (for layers: the row). Each panel's caption says how
// much lies on tokens that are no patches.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/draw/picture_page.h"
#include "attnflow/image/overlay.h"
#include "attnflow/report/report.h"

namespace attnflow {

enum class ImageView { kOverview, kOverlay, kLayers };

// "overview", "overlay" or "layers"; nothing for any other name.
std::optional<ImageView> image_view_from_name(const std::string& name);

struct ImageFigureOptions {
  ImageView view = ImageView::kOverview;
  MapInterpolation interpolation = MapInterpolation::kBilinear;
  PictureTone tone = PictureTone::kGrey;    // of the picture under a map; alone it keeps its colours
  double opacity = 0.65;                    // of the map
  std::vector<Method> methods = {};         // of raw, rollout, flow; all that the report holds when empty
  std::optional<std::size_t> output_token;  // a position; the report's output token when absent
  std::optional<std::size_t> layer;         // of the overlay; the last of settings.layers when absent
  PicturePageOptions page = {};             // size of the file and its text; without notes, captions are left out too
};

// Throws Error(kUsage) for a report of no picture, or an output token, layer or method that it does not hold;
// Error(kBadFile) when its picture cannot be decoded.
PicturePage image_page(const Report& report, const ImageFigureOptions& options = {});

}  // namespace attnflow
