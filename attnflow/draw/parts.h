// Parts shared by views: token labels along an axis, color bars, panel heads, lines of running text, rows of panels.
// Independent of reports.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attnflow/draw/scene.h"
#include "attnflow/report/color_scale.h"

namespace attnflow::internal {

inline constexpr double kLabelSize = 10.0;
inline constexpr double kTitleSize = 12.0;
inline constexpr double kSmallSize = kLabelSize;

// A row's or column's name. Special tokens are gray and italic, the selected one is bold.
struct AxisLabel {
  std::string text;
  bool special = false;
  bool selected = false;
  std::string title = {};
};

TextStyle label_style(const AxisLabel& label);

// Labels below columns that are `pitch` apart: horizontal if they fit, else rotated, else only some, so that they never
// touch. `left` and `right` are how far they extend beyond the middle of the first and last column.
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
// `first_x` is the middle of the first column, `y` the edge from which the labels hang.
void draw_column_labels(const ColumnLabels& labels, double first_x, double y, Scene* scene);

// Labels to the left of rows that are `pitch` apart; only some of them if room is short.
struct RowLabels {
  double pitch = 0.0;
  double width = 0.0;  // of the widest label
  std::vector<AxisLabel> labels;
  std::vector<std::size_t> shown;
};
RowLabels lay_out_row_labels(const TextMeasurer& measure, const std::vector<AxisLabel>& labels, double pitch);
// `x` is the right end of the labels, `first_y` the middle of the first row.
void draw_row_labels(const RowLabels& labels, double x, double first_y, Scene* scene);

// Title on the left, scale on the right: "0 [colors] 0.23". A marked cell with the maximum follows if values exceed the
// scale. Returns the height used.
struct PanelHead {
  std::string title;
  ColorScale scale;
};
inline constexpr double kPanelHeadHeight = 24.0;
// Leaves less room for the colors.
double panel_head_width(const TextMeasurer& measure, const PanelHead& head);
void draw_panel_head(const PanelHead& head, double x, double width, Scene* scene);

inline constexpr TextStyle kSmallGrey{.size = kSmallSize, .color = kGrey};
inline constexpr TextStyle kPanelNote{.size = kSmallSize, .color = kGrey, .italic = true};

struct ColorBar {
  std::string low;
  std::string high;
  bool has_signs = false;
  double low_width = 0.0;
  double high_width = 0.0;

  double ends_width() const;  // everything except the colors
};
ColorBar color_bar(const std::string& low, const std::string& high, bool has_signs, const TextMeasurer& measure);
// `baseline`: of the texts, at the left end; `ramp`: the width of the colors.
void draw_color_bar(const ColorBar& bar, Point baseline, double ramp, Scene* scene);

void draw_above_mark(const Rect& cell, Scene* scene);

// For items excluded from rankings: a light background with thin lines that rise to the right.
inline constexpr Color kExcluded{0xf4, 0xf4, 0xf4};
void draw_hatching(const Rect& area, Scene* scene);

// Adds text in lines of at most `width` below the scene's content, on the left; nothing for an empty text.
void add_wrapped(const std::string& text, const TextStyle& style, double width, Scene* scene);

Scene with_caption(const std::string& id, const Scene& panels, const std::string& caption, double width);

// Places panels from left to right in rows no wider than `width`, tops aligned.
Scene on_shelves(const std::vector<Scene>& panels, double width, double gap, const TextMeasurer& measure);

Scene stacked(const std::vector<Scene>& panels, double gap, const TextMeasurer& measure);

}  // namespace attnflow::internal
