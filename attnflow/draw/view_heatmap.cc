// Layer x input token for one output token, a panel for each method.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnflow/base/error.h"
#include "attnflow/draw/grid.h"
#include "attnflow/draw/views.h"

namespace attnflow::internal {
namespace {

constexpr double kHeatmapGap = 22.0;
constexpr double kLargestHeatmapCell = 34.0;
// Panels stand beside each other when their cells are still this wide, and below each other otherwise.
constexpr double kLeastCellBeside = 15.0;

double whole_pixels(double size) { return size >= 6.0 ? std::floor(size) : size; }

}  // namespace

View heatmap_view(const FigureData& data) {
  const Report& report = data.report;
  const std::vector<Method> methods = data.methods_with_output_token();
  const auto panels = static_cast<double>(methods.size());
  const std::size_t layers = report.settings.layers.size();

  std::vector<AxisLabel> columns;
  for (std::size_t j = 0; j < data.tokens; ++j) {
    columns.push_back({data.labels[j], data.special(j), j == data.output_token, fmt::format("position {}", j)});
  }
  // The highest layer on top, as in the graph.
  std::vector<AxisLabel> rows;
  for (std::size_t r = 0; r < layers; ++r) {
    rows.push_back({.text = fmt::format("layer {}", report.settings.layers[layers - 1 - r])});
  }

  Grid grid;
  grid.columns = columns;
  grid.rows = rows;
  grid.cell_height = whole_pixels(std::clamp(300.0 / static_cast<double>(layers), 7.0, 18.0));
  const auto fit = [&](double width) {
    grid.left_margin = 0.0;
    fit_grid_width(data.measure, width, kLargestHeatmapCell, &grid);
    return grid.cell_width;
  };
  const double beside = (data.width - kHeatmapGap * (panels - 1.0)) / panels;
  const bool is_beside = fit(beside) >= kLeastCellBeside || methods.size() == 1;
  if (!is_beside) fit(data.width);

  bool above = false;
  bool without_value = false;
  std::vector<Scene> scenes;
  for (const Method method : methods) {
    const std::size_t row = data.row_of_output_token(method);
    ScaleBuilder builder;
    for (std::size_t l = 0; l < layers; ++l) {
      for (std::size_t j = 0; j < data.tokens; ++j) {
        builder.add(data.value(method, l, row, j), data.aside(data.output_token, j));
        without_value = without_value || !std::isfinite(data.value(method, l, row, j));
      }
    }
    grid.id = "heatmap-" + to_text(method);
    grid.head = {.title = to_text(method), .scale = builder.scale()};
    above = above || grid.head.scale->above.has_value();
    grid.value = [&](std::size_t r, std::size_t c) { return data.value(method, layers - 1 - r, row, c); };
    grid.column_labels = is_beside || method == methods.back();
    grid.note =
        method == Method::kFlow ? degeneracy_note(data, {.first_layer = 0, .end_layer = layers, .row = row}) : "";
    scenes.push_back(draw_grid(grid, data.measure));
  }

  const Scene panels_scene =
      is_beside ? on_shelves(scenes, data.width, kHeatmapGap, data.measure) : stacked(scenes, 10.0, data.measure);
  View view = captioned(data, "heatmap", panels_scene,
                        fmt::format("What {} draws on, at each layer: input tokens from left to right, layers from "
                                    "bottom to top.{}",
                                    data.output_name(), pooled_note(grid)));
  view.above = above;
  view.without_value = without_value;
  return view;
}

}  // namespace attnflow::internal
