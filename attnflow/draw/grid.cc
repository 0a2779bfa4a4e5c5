#include "attnflow/draw/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attnflow/words/numbers.h"

namespace attnflow::internal {
namespace {

constexpr double kLabelGap = 6.0;
constexpr std::size_t kMaxCellColumns = 64;
constexpr std::size_t kMaxCellRows = 256;
// The corner is invisible in narrower cells.
constexpr double kLeastMarkedCell = 5.0;

bool is_excluded(const Grid& grid, std::size_t column) { return grid.excluded && grid.excluded(column); }

void hatch_excluded(const Grid& grid, const Rect& area, Scene* scene) {
  const std::size_t columns = grid.columns.size();
  for (std::size_t begin = 0; begin < columns; ++begin) {
    if (!is_excluded(grid, begin)) continue;
    std::size_t end = begin + 1;
    while (end < columns && is_excluded(grid, end)) ++end;
    draw_hatching({area.x + static_cast<double>(begin) * grid.cell_width, area.y,
                   static_cast<double>(end - begin) * grid.cell_width, area.height},
                  scene);
    begin = end;
  }
}

void draw_cells(const Grid& grid, const ColorScale& scale, double left, double top, Scene* scene) {
  const double gap = std::min(grid.cell_width, grid.cell_height) >= 8.0 ? 1.0 : 0.0;
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    scene->begin_group({.id = fmt::format("{}-row-{}", grid.id, r)});
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
      const double value = grid.value(r, c);
      const Rect cell{left + static_cast<double>(c) * grid.cell_width, top + static_cast<double>(r) * grid.cell_height,
                      grid.cell_width - gap, grid.cell_height - gap};
      const bool excluded = is_excluded(grid, c);
      scene->rect(cell, filled(excluded ? kExcluded : scale.color(value)),
                  fmt::format("{}, {}: {}", grid.rows[r].text, grid.columns[c].text,
                              std::isfinite(value) ? short_number(value) : "no value"));
      if (!excluded && scale.is_above(value)) draw_above_mark(cell, scene);
    }
    scene->end_group();
  }
}

void draw_image(const Grid& grid, const ColorScale& scale, const Rect& area, Scene* scene) {
  // The largest value represents a pixel, so that no strong cell is lost.
  const std::size_t pool_x = grid_pool(grid.cell_width);
  const std::size_t pool_y = grid_pool(grid.cell_height);
  const std::size_t rows = grid.rows.size();
  const std::size_t columns = grid.columns.size();
  Image image{.width = (columns + pool_x - 1) / pool_x, .height = (rows + pool_y - 1) / pool_y, .pixels = {}};
  image.pixels.reserve(image.width * image.height);
  for (std::size_t r = 0; r < rows; r += pool_y) {
    for (std::size_t c = 0; c < columns; c += pool_x) {
      double largest = std::numeric_limits<double>::quiet_NaN();
      bool excluded = true;
      for (std::size_t x = c; x < std::min(columns, c + pool_x); ++x) {
        if (is_excluded(grid, x)) continue;
        excluded = false;
        for (std::size_t y = r; y < std::min(rows, r + pool_y); ++y) largest = std::fmax(largest, grid.value(y, x));
      }
      image.pixels.push_back(excluded ? kExcluded : scale.color(largest));
    }
  }
  // The last pixels may represent fewer cells; the image is larger accordingly and clipped.
  scene->begin_group({.id = grid.id + "-image", .clip = area});
  scene->image({area.x, area.y, static_cast<double>(image.width * pool_x) * grid.cell_width,
                static_cast<double>(image.height * pool_y) * grid.cell_height},
               image);
  scene->end_group();
  if (std::min(grid.cell_width, grid.cell_height) < kLeastMarkedCell) return;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      if (is_excluded(grid, c) || !scale.is_above(grid.value(r, c))) continue;
      draw_above_mark({area.x + static_cast<double>(c) * grid.cell_width,
                       area.y + static_cast<double>(r) * grid.cell_height, grid.cell_width, grid.cell_height},
                      scene);
    }
  }
}

}  // namespace

std::size_t grid_pool(double cell_size) {
  // PNGs have at least two pixels per pixel of the page.
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(0.5 / cell_size - 1e-9)));
}

std::string pooled_note(const Grid& grid) {
  const std::size_t x = grid_pool(grid.cell_width);
  const std::size_t y = grid_pool(grid.cell_height);
  if (x == 1 && y == 1) return "";
  return fmt::format(" Each pixel shows the largest of {} x {} values.", y, x);
}

double grid_left_margin(const TextMeasurer& measure, const Grid& grid) {
  const double rows = lay_out_row_labels(measure, grid.rows, grid.cell_height).width + kLabelGap;
  const double columns = lay_out_column_labels(measure, grid.columns, grid.cell_width).left - grid.cell_width / 2.0;
  return std::ceil(std::max(rows, columns));
}

void fit_grid_width(const TextMeasurer& measure, double width, double largest, Grid* grid) {
  // The margin depends on the labels' angle, hence on the cells, which depend on the margin: two iterations suffice.
  grid->cell_width = largest;
  for (int round = 0; round < 2; ++round) {
    const double room = width - std::max(grid->left_margin, grid_left_margin(measure, *grid)) - 6.0;
    const double cell = room / static_cast<double>(grid->columns.size());
    grid->cell_width = std::max(grid->least_cell_width, std::min(largest, cell >= 6.0 ? std::floor(cell) : cell));
  }
  grid->left_margin = std::max(grid->left_margin, grid_left_margin(measure, *grid));
}

Scene draw_grid(const Grid& grid, const TextMeasurer& measure) {
  Scene scene(measure);
  const ColorScale& scale = grid.head.scale;
  const double left = std::max(grid.left_margin, grid_left_margin(measure, grid));
  const ColumnLabels columns = lay_out_column_labels(measure, grid.columns, grid.cell_width);
  const Rect area{left, kPanelHeadHeight, grid.cell_width * static_cast<double>(grid.columns.size()),
                  grid.cell_height * static_cast<double>(grid.rows.size())};
  const double right = grid.column_labels ? std::max(0.0, columns.right - grid.cell_width / 2.0) : 0.0;
  scene.width = std::max(area.x + area.width + right, panel_head_width(measure, grid.head));

  scene.begin_group({.id = grid.id});
  draw_panel_head(grid.head, 0.0, scene.width, &scene);
  if (grid.columns.size() <= kMaxCellColumns && grid.rows.size() <= kMaxCellRows) {
    draw_cells(grid, scale, area.x, area.y, &scene);
  } else {
    draw_image(grid, scale, area, &scene);
  }
  hatch_excluded(grid, area, &scene);
  scene.rect({area.x - 0.5, area.y - 0.5, area.width + 0.5, area.height + 0.5}, stroked(kLightGrey, 0.5));
  draw_row_labels(lay_out_row_labels(measure, grid.rows, grid.cell_height), left - kLabelGap,
                  area.y + grid.cell_height / 2.0, &scene);
  scene.height = area.y + area.height;
  if (grid.column_labels) {
    draw_column_labels(columns, area.x + grid.cell_width / 2.0, scene.height, &scene);
    scene.height += columns.height;
  }
  if (!grid.note.empty()) {
    scene.height += 4.0;
    add_wrapped(grid.note, kPanelNote, scene.width, &scene);
  }
  scene.end_group();
  return scene;
}

}  // namespace attnflow::internal
