// Layer x input token for one output token, one panel per method.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnflow/draw/figure_text.h"
#include "attnflow/draw/grid.h"
#include "attnflow/draw/views.h"

namespace attnflow::internal {
namespace {

constexpr double kHeatmapGap = 22.0;
// Panels with narrower cells are stacked.
constexpr double kLeastCellBeside = 15.0;

double whole_pixels(double size) { return size >= 6.0 ? std::floor(size) : size; }

}  // namespace

View heatmap_view(const FigureData& data, double left_margin) {
  const std::vector<Method> methods = data.methods_with_output_token();
  const auto panels = static_cast<double>(methods.size());
  const std::vector<std::size_t>& layers = *method_values(data.report, methods.front()).layers;

  Grid grid;
  grid.columns = input_axis(data);
  grid.least_cell_width = data.least_cell();
  if (data.row_shown(methods.front()) && !data.report.generation) grid.columns[data.output_token].selected = true;
  for (std::size_t r = layers.size(); r-- > 0;) grid.rows.push_back({.text = fmt::format("layer {}", layers[r])});
  grid.cell_height = whole_pixels(std::clamp(400.0 / static_cast<double>(layers.size()), 7.0, 18.0));
  grid.excluded = [&](std::size_t c) { return data.is_excluded(c); };
  const auto fit = [&](double width) {
    grid.left_margin = left_margin;
    fit_grid_width(data.measure, width, kLargestCell, &grid);
    return grid.cell_width;
  };
  const double beside = (data.width - kHeatmapGap * (panels - 1.0)) / panels;
  const bool is_beside = fit(beside) >= kLeastCellBeside || methods.size() == 1;
  if (!is_beside) fit(data.width);

  View view{.scene = Scene(data.measure)};
  view.left_margin = grid.left_margin;
  std::vector<Scene> scenes;
  for (const Method method : methods) {
    std::vector<ValueRow> rows;  // from the top down
    for (std::size_t l = layers.size(); l-- > 0;) rows.push_back(data.shown(method, {l}));
    std::vector<std::size_t> all(layers.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    grid.id = "heatmap-" + to_text(method);
    grid.head = {.title = to_text(method), .scale = scale_of(data, method, rows)};
    grid.value = [&](std::size_t r, std::size_t c) { return rows[r].values[c]; };
    grid.column_labels = is_beside || method == methods.back();
    grid.note = degeneracy_note(data, method, all, data.row_shown(method));
    scenes.push_back(draw_grid(grid, data.measure));
    view.note(grid.head.scale, rows);
  }
  const Scene panels_scene =
      is_beside ? on_shelves(scenes, data.width, kHeatmapGap, data.measure) : stacked(scenes, 10.0, data.measure);
  const char* const depends = data.report.generation ? "depended" : "depends";
  const bool average = !data.row_shown(methods.front());
  view.scene = with_caption(
      "heatmap", panels_scene,
      data.told(fmt::format(
          "What {} {} on{}, at each layer: {} tokens from left to right, layers from bottom to top.{}{}",
          data.output_name(methods.front()), depends, average ? ", on average" : "",
          data.report.generation ? "prompt" : "input", sink_sentence(data, methods.front()), pooled_note(grid))),
      data.width);
  return view;
}

}  // namespace attnflow::internal
