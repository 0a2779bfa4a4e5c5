// The views of a report. Each returns a drawing no wider than data.width, and what the page's legend has to explain.
#pragma once

#include <string>
#include <vector>

#include "attnflow/draw/figure_data.h"
#include "attnflow/draw/parts.h"
#include "attnflow/draw/scene.h"

namespace attnflow::internal {

struct View {
  Scene scene;
  bool above = false;          // some values are above the scale
  bool without_value = false;  // some cells have no value
  double left_margin = 0.0;    // for grids: the room to the left of the cells

  void note(const ColorScale& scale, const std::vector<ValueRow>& rows) {
    above = above || scale.above;
    without_value = without_value || any_without_value(rows);
  }
};

inline constexpr double kLargestCell = 34.0;

std::vector<AxisLabel> input_axis(const FigureData& data);

// `compact`: only one panel (rollout, if available) if the panels do not fit next to each other.
View graph_view(const FigureData& data, bool compact = false);
View heatmap_view(const FigureData& data, double left_margin = 0.0);
View strip_view(const FigureData& data);
View referents_view(const FigureData& data);

struct MatrixViewLayout {
  bool compact = false;      // panels next to each other even if that leaves no room for all labels
  double left_margin = 0.0;  // minimum
};
bool has_matrix(const FigureData& data);
View matrix_view(const FigureData& data, const MatrixViewLayout& layout);

View overview(const FigureData& data);
View answer_view(const FigureData& data);

// The whole page, as written by figure_svg, figure_pdf and figure_png.
Scene figure_scene(const Report& report, const FigureOptions& options, const TextMeasurer& measure);

// The text alternative, on one line.
std::string figure_description(const Report& report, const FigureOptions& options);

}  // namespace attnflow::internal
