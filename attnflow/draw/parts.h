// Parts that several views are made of: token labels along an axis, colour bars, panel heads, lines of running text,
// and panels on a shelf. Nothing here knows a report.
#ifndef ATTNFLOW_DRAW_PARTS_H_
#define ATTNFLOW_DRAW_PARTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/draw/color_scale.h"
#include "attnflow/draw/scene.h"

namespace attnflow::internal {

inline constexpr double kLabelSize = 10.0;
inline constexpr double kTitleSize = 12.0;
inline constexpr double kSmallSize = kLabelSize;

// The name of a row or column. Special tokens are grey and italic, the one looked at is bold.
struct AxisLabel {
  std::string text;
  bool special = false;
  bool selected = false;
  std::string title = {};
};

TextStyle label_style(const AxisLabel& label);

// Labels under columns that are `pitch` apart: level where they fit, else turned, else only some of them, so that they
// never touch. `left` and `right` say how far they reach beyond the first and the last column's middle.
struct ColumnLabels {
  double pitch = 0.0;
  double angle = 0.0;
  double height = 0.0;
  double left = 0.0;
  double right = 0.0;
  std::vector<AxisLabel> labels;   // shortened
  std::vector<std::size_t> shown;  // columns, increasing
};
ColumnLabels lay_out_column_labels(const TextMeasurer& measure, const std::vector<AxisLabel>& labels, double pitch);
// `first_x` is the middle of the first column, `y` the edge that the labels hang from.
void draw_column_labels(const ColumnLabels& labels, double first_x, double y, Scene* scene);

// Labels to the left of rows that are `pitch` apart; only some of them where there is no room for all.
struct RowLabels {
  double pitch = 0.0;
  double width = 0.0;  // of the widest
  std::vector<AxisLabel> labels;
  std::vector<std::size_t> shown;
};
RowLabels lay_out_row_labels(const TextMeasurer& measure, const std::vector<AxisLabel>& labels, double pitch);
// `x` is the right end of the labels, `first_y` the middle of the first row.
void draw_row_labels(const RowLabels& labels, double x, double first_y, Scene* scene);

// Title on the left, scale on the right: "0 [colours] 0.23". With values above the scale, the bar ends in a marked cell
// with their maximum. Returns the height used.
struct PanelHead {
  std::string title;
  ColorScale scale;
};
inline constexpr double kPanelHeadHeight = 24.0;
// The least width: the colors have less room there.
double panel_head_width(const TextMeasurer& measure, const PanelHead& head);
void draw_panel_head(const PanelHead& head, double x, double width, Scene* scene);

inline constexpr TextStyle kSmallGrey{.size = kSmallSize, .color = kGrey};

// A colour bar, with the texts at its ends.
struct ColorBar {
  std::string low;
  std::string high;
  bool has_signs = false;
  double low_width = 0.0;
  double high_width = 0.0;

  double ends_width() const;  // all but the colours
};
ColorBar color_bar(const std::string& low, const std::string& high, bool has_signs, const TextMeasurer& measure);
// `baseline`: of the texts, at the left end; `ramp`: the width of the colours.
void draw_color_bar(const ColorBar& bar, Point baseline, double ramp, Scene* scene);

// The white corner of a cell above the scale.
void draw_above_mark(const Rect& cell, Scene* scene);

// What is excluded from rankings stands on a light ground under thin lines that rise to the right.
inline constexpr Color kExcluded{0xf4, 0xf4, 0xf4};
void draw_hatching(const Rect& area, Scene* scene);

// Text broken into lines of at most `width`; returns the height used, 0 for an empty text.
double draw_wrapped(const std::string& text, const TextStyle& style, Point top_left, double width, Scene* scene);

// Panels with a caption under them, as the group `id`.
Scene with_caption(const std::string& id, const Scene& panels, const std::string& caption, double width);

// Panels from left to right, in rows no wider than `width`, their tops aligned.
Scene on_shelves(const std::vector<Scene>& panels, double width, double gap, const TextMeasurer& measure);

// Panels below each other.
Scene stacked(const std::vector<Scene>& panels, double gap, const TextMeasurer& measure);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_PARTS_H_
