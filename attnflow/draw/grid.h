// A grid of colored cells with labeled rows and columns: heat maps and matrices.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "attnflow/draw/parts.h"
#include "attnflow/draw/scene.h"

namespace attnflow::internal {

struct Grid {
  std::string id;
  PanelHead head;
  std::vector<AxisLabel> rows;     // from top to bottom
  std::vector<AxisLabel> columns;  // from left to right
  std::function<double(std::size_t row, std::size_t column)> value;
  // Hatched instead of colored; none if empty. Their values do not set the scale.
  std::function<bool(std::size_t column)> excluded = {};
  double cell_width = 0.0;
  double least_cell_width = 0.0;  // cells are never narrower, even if the grid exceeds its room
  double cell_height = 0.0;
  double left_margin = 0.0;   // room to the left of the cells; at least what row and column labels need
  bool column_labels = true;  // false if another panel below has them
  std::string note;           // below the panel, "" for none
};

double grid_left_margin(const TextMeasurer& measure, const Grid& grid);

// Sets the cells' width, at most `largest`, so that the grid is no wider than `width`, and the left margin, which only
// grows.
void fit_grid_width(const TextMeasurer& measure, double width, double largest, Grid* grid);

// How many cells share a picture's pixel in each direction: cells smaller than a pixel are merged.
std::size_t grid_pool(double cell_size);
std::string pooled_note(const Grid& grid);

// Draws head, cells, labels and note. Grids of at most 64 columns and 256 rows are drawn cell by cell, with tooltips;
// larger ones as one image, for a small file.
Scene draw_grid(const Grid& grid, const TextMeasurer& measure);

}  // namespace attnflow::internal
