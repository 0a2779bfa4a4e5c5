// Layers x prompt tokens, and generated tokens x prompt tokens.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attnflow/draw/figure_data.h"
#include "attnflow/draw/generation_data.h"
#include "attnflow/draw/grid.h"

namespace attnflow::internal {
namespace {

constexpr double kLargestGenerationCell = 34.0;

using Rows = std::vector<ValueRow>;

bool any_without_value(const Rows& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const ValueRow& row) {
    return std::any_of(row.values.begin(), row.values.end(), [](double value) { return !std::isfinite(value); });
  });
}

std::vector<AxisLabel> prompt_axis(const GenerationData& data) {
  std::vector<AxisLabel> axis;
  for (std::size_t j = 0; j < data.prompt(); ++j) {
    std::string title = fmt::format("token {}", j);
    if (data.left_out(j)) title += ", dropped: " + clean_text(data.dropped[j]);
    axis.push_back({.text = data.prompt_labels[j],
                    .special = data.report.prompt_tokens[j].special || data.left_out(j),
                    .title = std::move(title)});
  }
  return axis;
}

// Whole pixels where they are large enough, so that edges are sharp.
double cell_height(std::size_t rows, double room, double most) {
  const double height = std::min(room / static_cast<double>(rows), most);
  return height >= 6.0 ? std::floor(height) : height;
}

std::string unlabelled_note(const GenerationData& data, const Grid& grid) {
  const bool columns =
      lay_out_column_labels(data.measure, grid.columns, grid.cell_width).shown.size() < grid.columns.size();
  const bool rows = lay_out_row_labels(data.measure, grid.rows, grid.cell_height).shown.size() < grid.rows.size();
  if (!columns && !rows) return "";
  return rows && columns ? " Not every row and column is labelled."
                         : fmt::format(" Not every {} is labelled.", rows ? "row" : "column");
}

// Of the flow values in the rows and layers shown.
std::string generation_flow_note(const GenerationData& data, bool all_rows) {
  const Tensor<std::uint8_t>& flags = data.report.flow_degenerate;
  if (data.method != Method::kFlow || flags.shape() != data.source.values->prompt.shape()) return "";
  const bool one = data.row && !all_rows;
  std::size_t flagged = 0;
  std::size_t all = 0;
  for (std::size_t row = one ? *data.row : 0; row < (one ? *data.row + 1 : flags.extent(0)); ++row) {
    for (std::size_t j = 0; j < data.prompt(); ++j) {
      for (const std::size_t l : data.layer_positions) {
        flagged += flags(row, j, l) != 0 ? 1 : 0;
        ++all;
      }
    }
  }
  return degeneracy_sentence(flagged, all);
}

View grid_view(const GenerationData& data, const std::string& id, Grid grid, const Rows& rows,
               const std::string& caption) {
  grid.head.scale = generation_scale(data, rows);
  grid.value = [&](std::size_t r, std::size_t c) { return rows[r].values[c]; };
  grid.left_out = [&](std::size_t c) { return data.left_out(c); };
  fit_grid_width(data.measure, data.width, kLargestGenerationCell, &grid);
  View view{.scene = with_caption(id, draw_grid(grid, data.measure),
                                  caption + unlabelled_note(data, grid) + pooled_note(grid), data.width)};
  view.above = grid.head.scale->above.has_value();
  view.without_value = any_without_value(rows);
  return view;
}

std::string sink_sentence(const GenerationData& data) {
  const Tensor<double>& share = data.report.sink_share;
  const Shape shape = {data.report.tokens.size(), data.report.settings.layers.size()};
  if (share.shape() != shape || share.empty()) return "";
  const std::size_t first = data.row ? data.source.tokens[*data.row] : 0;
  const std::size_t end = data.row ? first + 1 : data.report.tokens.size();
  std::vector<double> means;
  for (std::size_t l = 0; l < shape[1]; ++l) {
    double sum = 0.0;
    for (std::size_t t = first; t < end; ++t) sum += share(t, l);
    means.push_back(sum / static_cast<double>(end - first));
  }
  const auto [least, most] = std::minmax_element(means.begin(), means.end());
  const auto layer = [&](auto at) { return data.report.settings.layers[static_cast<std::size_t>(at - means.begin())]; };
  if (means.size() == 1)
    return fmt::format(" Of the attention itself {:.0f}% falls on the first token.", 100.0 * *most);
  return fmt::format(" Of the attention itself {:.0f}% (layer {}) to {:.0f}% (layer {}) falls on the first token.",
                     100.0 * *least, layer(least), 100.0 * *most, layer(most));
}

Grid tokens_grid(const GenerationData& data) {
  Grid grid;
  grid.id = "tokens-" + to_text(data.method);
  grid.head.title = fmt::format("{}, {}", to_text(data.method), data.span());
  grid.columns = prompt_axis(data);
  for (std::size_t row = 0; row < data.source.tokens.size(); ++row) {
    const std::size_t t = data.source.tokens[row];
    grid.rows.push_back({.text = data.generated_labels[t],
                         .special = data.report.tokens[t].special,
                         .selected = data.row && *data.row == row,
                         .title = fmt::format("generated token {}", t)});
  }
  constexpr double kRoom = 900.0;
  grid.cell_height = cell_height(grid.rows.size(), kRoom, 18.0);
  grid.note = generation_flow_note(data, true);
  return grid;
}

Grid layers_grid(const GenerationData& data) {
  const std::size_t layers = data.layer_positions.size();
  Grid grid;
  grid.id = "layers-" + to_text(data.method);
  grid.head.title = to_text(data.method);
  grid.columns = prompt_axis(data);
  // The highest layer on top, as in the graph.
  for (std::size_t at = layers; at-- > 0;) grid.rows.push_back({.text = fmt::format("layer {}", data.layer(at))});
  grid.cell_height = cell_height(layers, 400.0, 18.0);
  grid.note = generation_flow_note(data, false);
  return grid;
}

// One left margin for both, so that columns stand above each other.
double common_margin(const GenerationData& data) {
  double margin = 0.0;
  for (Grid grid : {layers_grid(data), tokens_grid(data)}) {
    fit_grid_width(data.measure, data.width, kLargestGenerationCell, &grid);
    margin = std::max(margin, grid.left_margin);
  }
  return margin;
}

}  // namespace

View generation_layers(const GenerationData& data, double left_margin) {
  Grid grid = layers_grid(data);
  grid.left_margin = left_margin;
  Rows rows;
  for (std::size_t at = data.layer_positions.size(); at-- > 0;) rows.push_back({data.shown_at(at), data.shown_token()});
  const bool average = !data.shown_token();
  const std::string caption =
      fmt::format("What {} drew on at each layer{}: prompt tokens from left to right, layers from bottom to top.{}",
                  data.who(), average ? ", on average" : "", sink_sentence(data));
  return grid_view(data, "layers", std::move(grid), rows, caption);
}

View generation_tokens(const GenerationData& data, double left_margin) {
  Grid grid = tokens_grid(data);
  grid.left_margin = left_margin;
  Rows rows;
  for (std::size_t row = 0; row < data.source.tokens.size(); ++row) {
    rows.push_back({mean_over_layers(*data.values, row, data.layer_positions), data.source.tokens[row]});
  }
  std::string caption = "What each generated token (from top to bottom) drew on in the prompt (from left to right).";
  if (data.source.tokens.size() < data.report.tokens.size()) {
    caption += fmt::format(" {} was computed for {} of the {} generated tokens.", to_text(data.method),
                           data.source.tokens.size(), data.report.tokens.size());
  }
  return grid_view(data, "tokens", std::move(grid), rows, caption);
}

View generation_overview(const GenerationData& data) {
  std::vector<View> parts;
  parts.push_back(generation_strip(data));
  const bool matrix = data.source.tokens.size() > 1;
  const double left_margin = matrix ? common_margin(data) : 0.0;
  parts.push_back(generation_layers(data, left_margin));
  if (matrix) parts.push_back(generation_tokens(data, left_margin));
  View page{.scene = Scene(data.measure)};
  std::vector<Scene> scenes;
  for (View& part : parts) {
    page.above = page.above || part.above;
    page.without_value = page.without_value || part.without_value;
    scenes.push_back(std::move(part.scene));
  }
  page.scene = stacked(scenes, 26.0, data.measure);
  return page;
}

}  // namespace attnflow::internal
