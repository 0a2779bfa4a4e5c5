#include "attnflow/report/painted_tokens.h"

#include <fmt/format.h>

#include <cmath>

#include "attnflow/attribution/words.h"
#include "attnflow/report/color_scale.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/wrap.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kLongestLabel = 24;

ColorScale scale_of_row(const Report& report, const AnswerRow& row) {
  ScaleBuilder builder;
  for (std::size_t j = 0; j < row.values.size(); ++j) {
    const bool aside = report.input.tokens[j].special || (report.model.causal && j == 0);
    const bool seen = !report.model.causal || j <= report.output_token;
    builder.add(row.has_signs ? std::abs(row.values[j]) : row.values[j], aside, seen);
  }
  ColorScale scale = builder.scale(row.of_flow);
  scale.has_signs = row.has_signs;
  return scale;
}

// Two digits that fit below a short word: "4.3", "0.12", "-12".
std::string short_drop(double drop) {
  const double size = std::abs(drop);
  constexpr double kSeen = 0.005;
  return fmt::format("{:.{}f}", size < kSeen ? 0.0 : drop, size >= 9.95 ? 0 : size >= 0.995 ? 1 : 2);
}

bool continues_word(const InputToken& before, const InputToken& token) {
  return before.end && token.begin && before.segment == token.segment && *before.end == *token.begin;
}

}  // namespace

std::vector<PaintedToken> painted_tokens(const Report& report, const AnswerRow& row, const ReportCheck* check,
                                         std::string_view ellipsis) {
  const ColorScale scale = scale_of_row(report, row);
  const ColorScale drops = check != nullptr ? scale_of_drops(*check) : ColorScale{};
  std::vector<PaintedToken> painted;
  for (std::size_t j = 0; j < row.values.size(); ++j) {
    const std::string text = clean_line(display_text(report.input, j));
    PaintedToken token{.label = shorten(without_leading_spaces(text), kLongestLabel, ellipsis)};
    if (token.label.empty()) token.label = text.empty() ? "\u25A1" : "\u2423";
    if (!report.model.causal || j <= report.output_token) {
      token.ground = scale.color(row.values[j]);
      token.position = scale.position(row.values[j]);
    }
    if (const CheckedToken* const found = check != nullptr ? check->find(j) : nullptr) {
      token.below = short_drop(found->drop);
      token.ground_below = drops.color(found->drop);
      token.position_below = drops.position(found->drop);
    }
    const std::vector<InputToken>& tokens = report.input.tokens;
    token.touches = j > 0 && !text.starts_with(' ') && continues_word(tokens[j - 1], tokens[j]);
    token.begins_text = j > 0 && tokens[j - 1].segment != tokens[j].segment && tokens[j].role != "mean";
    painted.push_back(std::move(token));
  }
  return painted;
}

}  // namespace attnflow::internal
