// The tokens of a report with the colors of a map and of the check, in reading order, for terminals and static HTML;
// internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/report/color.h"
#include "attnflow/report/report.h"
#include "attnflow/report/report_answer.h"

namespace attnflow::internal {

struct PaintedToken {
  std::string label = {};
  std::string below = {};
  std::optional<Color> ground = {};
  std::optional<Color> ground_below = {};
  double position = 0.0;  // of the value on its scale (ColorScale::position)
  double position_below = 0.0;
  bool touches = false;      // the token before, whose word it continues
  bool begins_text = false;  // the second text of a pair, or an encoder-decoder's target
};

// `check` may be null: then nothing stands below the tokens. Long labels are cut.
std::vector<PaintedToken> painted_tokens(const Report& report, const AnswerRow& row, const ReportCheck* check,
                                         std::string_view ellipsis);

}  // namespace attnflow::internal
