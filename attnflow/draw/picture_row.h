// A row of a picture page: heading, colour bar, and panels on as few lines as leave them large enough.
#ifndef ATTNFLOW_DRAW_PICTURE_ROW_H_
#define ATTNFLOW_DRAW_PICTURE_ROW_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/draw/picture_page.h"
#include "attnflow/draw/scene.h"

namespace attnflow::internal {

struct PngSize {
  std::size_t width = 0;
  std::size_t height = 0;
};

// The size that a PNG file says it has; nothing for what does not begin like one, or is 0 wide or high.
std::optional<PngSize> png_size(const std::string& bytes);

// Panels on lines of `per_line` (the last may have fewer), their pictures `height` high.
struct PanelFit {
  std::size_t per_line = 0;
  double height = 0.0;
};

// What the fit asks of a panel: width over height of its picture, and how wide it is at least.
struct PanelShape {
  double aspect = 1.0;
  double least_width = 0.0;
};

// The fewest lines no wider than `width` whose pictures are at least two thirds of `height` high, with the highest
// pictures that they have room for, at most `height`. A panel to a line where even that is too wide.
PanelFit fit_panels(const std::vector<PanelShape>& panels, double width, double height, double gap);

// The row as a drawing at most `width` wide; parts have ids that begin with `id`. The row has been checked: it has
// panels, whose png have a size.
Scene picture_row(const PictureRow& row, const std::string& id, double width, const TextMeasurer& measure);

// The whole page: title, rows, notes, margins. What picture_page_svg, _pdf and _png write.
Scene picture_page_scene(const PicturePage& page, const PicturePageOptions& options, const TextMeasurer& measure);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_PICTURE_ROW_H_
