#include "attnflow/draw/paper.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "attnflow/base/format_error.h"
#include "attnflow/base/parse_number.h"

namespace attnflow {
namespace {

struct Unit {
  LengthUnit unit;
  std::string_view name;
  double pixels;
};

constexpr std::array<Unit, 5> kUnits{{{LengthUnit::kPixels, "px", 1.0},
                                      {LengthUnit::kInches, "in", 96.0},
                                      {LengthUnit::kCentimeters, "cm", 96.0 / 2.54},
                                      {LengthUnit::kMillimeters, "mm", 96.0 / 25.4},
                                      {LengthUnit::kPoints, "pt", 96.0 / 72.0}}};

constexpr double kLeastFont = 2.0;
constexpr double kMostFont = 72.0;

const Unit& unit_of(LengthUnit unit) { return kUnits[static_cast<std::size_t>(unit)]; }

}  // namespace

double Length::pixels() const { return value * unit_of(unit).pixels; }

Length parse_length(const std::string& option, const std::string& text) {
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const std::string_view number = std::string_view(text).substr(0, text.size() - unit.name.size());
    const std::optional<double> value = internal::parse_number<double>(number);
    if (value && std::isfinite(*value) && *value > 0.0) return {*value, unit.unit};
  }
  throw internal::usage_error(
      "{}: expected a length above 0 with its unit, such as 3.3in, 8.4cm, 84mm, 240pt or 900px, found '{}'", option,
      text);
}

double parse_font_size(const std::string& option, const std::string& text) {
  std::string_view number = text;
  if (number.ends_with("pt")) number.remove_suffix(2);
  const std::optional<double> points = internal::parse_number<double>(number);
  if (points && *points >= kLeastFont && *points <= kMostFont) return *points;
  throw internal::usage_error("{}: expected {} to {} points, such as 8, found '{}'", option, kLeastFont, kMostFont,
                              text);
}

std::string to_text(const Length& length) { return fmt::format("{:.6g}{}", length.value, unit_of(length.unit).name); }

namespace internal {

PageSize page_size(const Length& width, double font_size) {
  constexpr double kScreenMargin = 18.0;
  constexpr double kPaperMargin = 2.0;
  constexpr double kLeastWidth = 9.6;
  constexpr double kMostWidth = 10000.0;
  if (!(width.pixels() >= kLeastWidth && width.pixels() <= kMostWidth)) {
    throw internal::usage_error("--width: expected a figure between 0.1in and 10000px wide, found {}", to_text(width));
  }
  if (!(font_size >= kLeastFont && font_size <= kMostFont)) {
    throw internal::usage_error("--font-size: expected {} to {} points, found {}", kLeastFont, kMostFont, font_size);
  }
  return {width, font_size / kLabelPoints, width.on_paper() ? kPaperMargin : kScreenMargin};
}

}  // namespace internal
}  // namespace attnflow
