#include "attnflow/report/painted_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "attnflow/report/color_scale.h"
#include "attnflow/report/painted_tokens.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/wrap.h"

namespace attnflow::internal {
namespace {

constexpr std::string_view kPlainAgain = "\x1b[0m";

std::string ink_and_ground(Color ground, bool true_color) {
  const Color ink = readable_on(ground);
  if (!true_color) return fmt::format("\x1b[38;5;{};48;5;{}m", palette_color(ink), palette_color(ground));
  return fmt::format("\x1b[38;2;{};{};{};48;2;{};{};{}m", ink.red, ink.green, ink.blue, ground.red, ground.green,
                     ground.blue);
}

class PaintedLines {
 public:
  PaintedLines(const PaintOptions& options, bool has_numbers) : options_(options), has_numbers_(has_numbers) {}

  void add(const PaintedToken& token, bool is_touched) {
    const std::size_t label = display_width(token.label);
    if (token.begins_text) end_line();
    // A touching token's number would run into this one's.
    const std::size_t number = token.below.empty() ? 0 : token.below.size() + (is_touched ? 1 : 0);
    const std::size_t cells = std::max(label, number);
    std::size_t gap = used_ == 0 || token.touches ? 0 : 1;
    if (used_ + gap + cells > options_.width) {
      end_line();
      gap = 0;
    }
    text_ += std::string(gap, ' ') + in_color(token.label + std::string(cells - label, ' '), token.ground);
    below_ += std::string(gap, ' ') + in_color(token.below, token.ground_below) +
              std::string(cells - token.below.size(), ' ');
    used_ += gap + cells;
  }

  std::vector<std::string> take() {
    end_line();
    return std::move(lines_);
  }

 private:
  std::string in_color(const std::string& text, std::optional<Color> ground) const {
    if (!ground || text.empty()) return text;
    return ink_and_ground(*ground, options_.true_color) + text + std::string(kPlainAgain);
  }

  void end_line() {
    if (used_ == 0) return;
    lines_.push_back(without_trailing_spaces(std::move(text_)));
    if (has_numbers_) lines_.push_back(without_trailing_spaces(std::move(below_)));
    text_.clear();
    below_.clear();
    used_ = 0;
  }

  const PaintOptions& options_;
  bool has_numbers_;
  std::string text_;
  std::string below_;
  std::size_t used_ = 0;
  std::vector<std::string> lines_;
};

// The cube's levels, and the grays beside it.
constexpr std::array<int, 6> kLevels = {0, 95, 135, 175, 215, 255};
constexpr std::size_t kCube = 16;
constexpr std::size_t kGrays = 232;

std::size_t nearest_level(int channel) {
  const auto* const nearest = std::min_element(
      kLevels.begin(), kLevels.end(), [&](int a, int b) { return std::abs(a - channel) < std::abs(b - channel); });
  return static_cast<std::size_t>(nearest - kLevels.begin());
}

int distance(Color color, int red, int green, int blue) {
  const int r = color.red - red;
  const int g = color.green - green;
  const int b = color.blue - blue;
  return r * r + g * g + b * b;
}

}  // namespace

std::size_t palette_color(Color color) {
  const std::size_t r = nearest_level(color.red);
  const std::size_t g = nearest_level(color.green);
  const std::size_t b = nearest_level(color.blue);
  constexpr int kDarkest = 8;
  constexpr int kStep = 10;
  constexpr int kGraySteps = 24;
  const int mean = (color.red + color.green + color.blue) / 3;
  const int gray = std::clamp((mean - kDarkest + kStep / 2) / kStep, 0, kGraySteps - 1);
  const int level = kDarkest + kStep * gray;
  const bool is_gray = distance(color, level, level, level) < distance(color, kLevels[r], kLevels[g], kLevels[b]);
  return is_gray ? kGrays + static_cast<std::size_t>(gray) : kCube + 36 * r + 6 * g + b;
}

std::optional<std::vector<std::string>> painted_text(const Report& report, const AnswerRow& row,
                                                     const ReportCheck* check, const PaintOptions& options) {
  if (row.values.empty() || report.input.image) return std::nullopt;
  const std::vector<PaintedToken> tokens = painted_tokens(report, row, check, options.ellipsis);
  if (std::any_of(tokens.begin(), tokens.end(), [](const auto& token) { return runs_right_to_left(token.label); })) {
    return std::nullopt;
  }
  PaintedLines lines(options, check != nullptr);
  for (std::size_t j = 0; j < tokens.size(); ++j) lines.add(tokens[j], j + 1 < tokens.size() && tokens[j + 1].touches);
  std::vector<std::string> made = lines.take();
  if (made.size() > options.lines) return std::nullopt;
  return made;
}

}  // namespace attnflow::internal
