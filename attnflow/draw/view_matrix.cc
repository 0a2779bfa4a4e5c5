// Output token x input token, one panel per method.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnflow/base/format_error.h"
#include "attnflow/draw/grid.h"
#include "attnflow/draw/views.h"
#include "attnflow/report/report_ranking.h"

namespace attnflow::internal {
namespace {

constexpr double kMatrixGap = 18.0;
constexpr double kLargestMatrixCell = 24.0;
// Room for a label per cell.
constexpr double kLabelledCell = 12.0;
constexpr std::size_t kMaxLabelledTokens = 64;
constexpr double kRoomForLabels = 90.0;
// Exceeded only if the labels need more.
constexpr double kLargestMatrix = 620.0;

std::size_t row_count(const FigureData& data, Method method) {
  return method_values(data.report, method).output_tokens->size();
}

// Square cells. A row holds as many panels as allow a label for every token, or all panels if labels are thinned
// anyway.
double square_cell(const FigureData& data, std::size_t panels, bool compact) {
  const auto n = static_cast<double>(data.tokens);
  std::size_t in_row = std::max<std::size_t>(1, panels);
  const auto cell_for = [&](std::size_t count) {
    const auto number = static_cast<double>(count);
    return ((data.width - kMatrixGap * (number - 1.0)) / number - kRoomForLabels) / n;
  };
  if (!compact && data.tokens <= kMaxLabelledTokens) {
    while (in_row > 1 && cell_for(in_row) < kLabelledCell) --in_row;
  } else if (!compact) {
    in_row = 1;
  }
  double cell = std::min(cell_for(in_row), kLargestMatrixCell);
  cell = std::min(cell, std::max(data.tokens > kMaxLabelledTokens ? 0.0 : kLabelledCell, kLargestMatrix / n));
  return std::max(data.least_cell(), cell >= 6.0 ? std::floor(cell) : cell);
}

// With different numbers of rows and columns, cells are as wide as the page allows.
void fit_generation(const FigureData& data, std::size_t rows, Grid* grid) {
  constexpr double kRoom = 900.0;
  constexpr double kHighest = 18.0;
  const double height = std::min(kRoom / static_cast<double>(rows), kHighest);
  grid->cell_height = height >= 6.0 ? std::floor(height) : height;
  fit_grid_width(data.measure, data.width, kLargestCell, grid);
}

AxisLabel row_label(const FigureData& data, std::size_t output) {
  if (!data.report.generation) {
    return {.text = data.labels[output], .special = data.special(output), .selected = output == data.output_token};
  }
  const std::size_t t = chosen_token(data.report, output);
  return {.text = data.generated_labels[t],
          .special = data.report.generation->tokens[t].special,
          .selected = data.options.output_token == t,
          .title = fmt::format("generated token {}", t)};
}

std::string unlabelled_note(const FigureData& data, const Grid& grid) {
  const bool columns =
      lay_out_column_labels(data.measure, grid.columns, grid.cell_width).shown.size() < grid.columns.size();
  const bool rows = lay_out_row_labels(data.measure, grid.rows, grid.cell_height).shown.size() < grid.rows.size();
  if (!columns && !rows) return "";
  return rows && columns ? " Not every row and column is labeled."
                         : fmt::format(" Not every {} is labeled.", rows ? "row" : "column");
}

std::string caption(const FigureData& data, Method method) {
  if (!data.report.generation) {
    return fmt::format("How much each output token (top to bottom) depends on each input token (left to right), {}.",
                       data.span(method));
  }
  if (!method_info(method).aggregates()) {
    return "How strongly each prompt token (left to right) argues for (blue) or against (red) each generated token "
           "(top to bottom).";
  }
  std::string text = "How much each generated token (top to bottom) depended on each prompt token (left to right).";
  const std::size_t all = data.report.generation->tokens.size();
  if (row_count(data, method) < all) {
    text += fmt::format(" {} was computed for {} of the {} generated tokens.", to_text(method), row_count(data, method),
                        all);
  }
  return text;
}

}  // namespace

bool has_matrix(const FigureData& data) {
  if (data.report.generation && data.methods.empty()) return data.report.output_tokens.size() > 1;
  return std::any_of(data.methods.begin(), data.methods.end(),
                     [&](Method method) { return data.tokens == 1 || row_count(data, method) > 1; });
}

View matrix_view(const FigureData& data, const MatrixViewLayout& layout) {
  const bool generation = data.report.generation.has_value();
  if (!has_matrix(data) && !generation) {
    throw internal::usage_error(
        "the matrix was asked for, but this report holds the values of one output token only; create a report for all "
        "of them, or draw the strip or the heat map");
  }
  std::vector<Method> shown;
  std::string left_out;
  for (const Method method : data.methods) {
    if (row_count(data, method) > 1 || data.tokens == 1 || generation) {
      shown.push_back(method);
    } else {
      left_out += fmt::format(" Not shown: {}, which was computed for one output token only.", to_text(method));
    }
  }

  Grid grid;
  grid.columns = input_axis(data);
  grid.least_cell_width = data.least_cell();
  grid.left_margin = layout.left_margin;
  grid.excluded = [&](std::size_t c) { return data.is_excluded(c); };
  if (!generation) grid.cell_width = grid.cell_height = square_cell(data, shown.size(), layout.compact);
  View view{.scene = Scene(data.measure)};
  std::vector<Scene> panels;
  const auto add_panel = [&](Method method, const std::vector<ValueRow>& rows, const ColorScale& scale) {
    grid.rows.clear();
    for (const ValueRow& row : rows) grid.rows.push_back(row_label(data, *row.output));
    if (generation) fit_generation(data, rows.size(), &grid);
    grid.id = "matrix-" + to_text(method);
    const bool spans = generation && method_info(method).aggregates();
    grid.head = {.title = spans ? fmt::format("{}, {}", to_text(method), data.span(method)) : to_text(method),
                 .scale = scale};
    grid.value = [&](std::size_t r, std::size_t c) { return rows[r].values[c]; };
    panels.push_back(draw_grid(grid, data.measure));
    view.note(grid.head.scale, rows);
  };
  for (const Method method : shown) {
    const std::vector<std::size_t>& outputs = data.outputs(method);
    const std::vector<std::size_t> layers = data.layer_positions(method);
    std::vector<ValueRow> rows;
    for (std::size_t r = 0; r < outputs.size(); ++r) {
      rows.push_back({mean_over_layers(data.values(method), r, layers), outputs[r]});
    }
    grid.note = degeneracy_note(data, method, layers, std::nullopt);
    add_panel(method, rows, scale_of(data, method, rows));
  }
  grid.note.clear();
  for (const MethodScores* const scores : data.scores) {
    if (!generation) break;  // for one prediction, without output tokens
    std::vector<ValueRow> rows;
    for (const std::size_t output : data.report.output_tokens) {
      const double* const row = scores->values[chosen_token(data.report, output)].data();
      rows.push_back({{row, row + data.tokens}, output});
    }
    add_panel(scores->method, rows, scale_of_scores(data, rows));
  }
  view.left_margin = grid.left_margin;
  view.scene = with_caption("matrix", on_shelves(panels, data.width, kMatrixGap, data.measure),
                            data.told(caption(data, shown.empty() ? data.first_method() : shown.front()) +
                                      unlabelled_note(data, grid) + pooled_note(grid) + left_out),
                            data.width);
  return view;
}

}  // namespace attnflow::internal
