// A row of a picture page: heading, color bar, and panels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attnflow/draw/picture_page.h"
#include "attnflow/draw/scene.h"

namespace attnflow::internal {

// Panels on lines of `per_line` (the last may have fewer).
struct PanelFit {
  std::size_t per_line = 0;
  double height = 0.0;
};

// A panel's picture width over height, and its minimum width.
struct PanelShape {
  double aspect = 1.0;
  double least_width = 0.0;
};

// Finds the fewest lines no wider than `width` whose pictures are at least two thirds of `height` high, and makes the
// pictures as high as possible, at most `height`. If a single panel is too wide, each panel gets its own line.
PanelFit fit_panels(const std::vector<PanelShape>& panels, double width, double height, double gap);

// Draws a nonempty row at most `width` wide; ids of parts begin with `id`.
Scene picture_row(const PictureRow& row, const std::string& id, double width, const TextMeasurer& measure);

Scene picture_page_scene(const PicturePage& page, const PicturePageOptions& options, const TextMeasurer& measure);

}  // namespace attnflow::internal
