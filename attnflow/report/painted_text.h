// A report's text in a terminal: each token on a background colored by its value, and below it what the prediction
// loses without it. Internal.
//
// Tokens stand in reading order from left to right, so texts that run from right to left are not painted. Pieces of one
// word touch; a token's cell is as wide as its text or the number below it. Colors are those of figures
// (report/color_scale.h), as 24-bit colors or the nearest of the 256-color palette: its 6 x 6 x 6 cube and its grays.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/report/color.h"
#include "attnflow/report/report.h"
#include "attnflow/report/report_answer.h"

namespace attnflow::internal {

struct PaintOptions {
  std::size_t width = 80;  // cells of a line
  std::size_t lines = 12;  // at most
  bool true_color = false;
  std::string_view ellipsis = "...";
};

// The number of a color in the 256-color palette.
std::size_t palette_color(Color color);

// `check` may be null: then nothing stands below the tokens. Nothing for a text that does not fit, or that runs from
// right to left.
std::optional<std::vector<std::string>> painted_text(const Report& report, const AnswerRow& row,
                                                     const ReportCheck* check, const PaintOptions& options);

}  // namespace attnflow::internal
