// Output token x input token, a panel for each method.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnflow/base/error.h"
#include "attnflow/draw/grid.h"
#include "attnflow/draw/views.h"

namespace attnflow::internal {
namespace {

constexpr double kMatrixGap = 18.0;
constexpr double kLargestMatrixCell = 24.0;
// Cells this wide have room for a label each.
constexpr double kLabelledCell = 12.0;
constexpr std::size_t kMaxLabelledTokens = 64;
constexpr double kRoomForLabels = 90.0;
// A matrix gets no larger than this, unless its labels need it.
constexpr double kLargestMatrix = 620.0;

}  // namespace

bool has_matrix(const FigureData& data) {
  if (data.tokens == 1) return true;
  return std::any_of(data.methods.begin(), data.methods.end(),
                     [&](Method method) { return method_values(data.report, method).output_tokens->size() > 1; });
}

View matrix_view(const FigureData& data, const MatrixLayout& layout) {
  const Report& report = data.report;
  if (!has_matrix(data)) {
    throw Error(ErrorKind::kUsage,
                "the matrix was asked for, but this report holds the values of one output token only; make the report "
                "for all of them, or draw the strip or the heat map");
  }
  std::vector<Method> shown;
  std::string left_out;
  for (const Method method : data.methods) {
    const std::size_t rows = method_values(report, method).output_tokens->size();
    if (rows > 1 || data.tokens == 1) {
      shown.push_back(method);
    } else {
      left_out += fmt::format(" Not shown: {}, which was computed for one output token only.", to_text(method));
    }
  }

  // As many panels in a row as leave every token its label; all of them when the labels are thinned anyway.
  const auto n = static_cast<double>(data.tokens);
  std::size_t in_row = std::max<std::size_t>(1, shown.size());
  const auto cell_for = [&](std::size_t panels) {
    const auto count = static_cast<double>(panels);
    return ((data.width - kMatrixGap * (count - 1.0)) / count - kRoomForLabels) / n;
  };
  if (!layout.compact && data.tokens <= kMaxLabelledTokens) {
    while (in_row > 1 && cell_for(in_row) < kLabelledCell) --in_row;
  } else if (!layout.compact) {
    in_row = 1;
  }
  double cell = std::min(cell_for(in_row), kLargestMatrixCell);
  cell = std::min(cell, std::max(data.tokens > kMaxLabelledTokens ? 0.0 : kLabelledCell, kLargestMatrix / n));
  if (cell >= 6.0) cell = std::floor(cell);

  Grid grid;
  grid.cell_width = grid.cell_height = cell;
  for (std::size_t j = 0; j < data.tokens; ++j) {
    grid.columns.push_back({.text = data.labels[j], .special = data.special(j)});
  }
  bool above = false;
  bool without_value = false;
  std::vector<Scene> panels;
  for (const Method method : shown) {
    const std::vector<std::size_t>& outputs = *method_values(report, method).output_tokens;
    ScaleBuilder builder;
    grid.rows.clear();
    for (std::size_t r = 0; r < outputs.size(); ++r) {
      grid.rows.push_back({.text = data.labels[outputs[r]],
                           .special = data.special(outputs[r]),
                           .selected = outputs[r] == data.output_token});
      for (std::size_t j = 0; j < data.tokens; ++j) {
        const double value = data.value(method, data.layer_position, r, j);
        builder.add(value, data.aside(outputs[r], j));
        without_value = without_value || !std::isfinite(value);
      }
    }
    grid.id = "matrix-" + to_text(method);
    grid.head = {.title = to_text(method), .scale = builder.scale()};
    above = above || grid.head.scale->above.has_value();
    grid.value = [&](std::size_t r, std::size_t c) { return data.value(method, data.layer_position, r, c); };
    grid.note =
        method == Method::kFlow
            ? degeneracy_note(
                  data, {.first_layer = data.layer_position, .end_layer = data.layer_position + 1, .row = std::nullopt})
            : "";
    panels.push_back(draw_grid(grid, data.measure));
  }

  View view = captioned(
      data, "matrix", on_shelves(panels, data.width, kMatrixGap, data.measure),
      fmt::format("What each output token of layer {} (from top to bottom) draws on each input token (from left to "
                  "right).{}{}{}",
                  data.layer, data.tokens > kMaxLabelledTokens ? " Not every token is labelled." : "",
                  pooled_note(grid), left_out));
  view.above = above;
  view.without_value = without_value;
  return view;
}

}  // namespace attnflow::internal
