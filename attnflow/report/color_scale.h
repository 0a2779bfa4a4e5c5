// Mapping values to colors.
//
// The colors are the nine blues of ColorBrewer (Harrower & Brewer, "ColorBrewer.org", The Cartographic Journal 40,
// 2003; attnflow/base/figures.json), interpolated in CIE L*a*b* as on the page (viewer/src/color/lab.ts): lightness
// decreases with the value, so the order survives color blindness and grayscale printing.
#pragma once

#include <limits>
#include <optional>

#include "attnflow/report/color.h"
#include "attnflow/report/report_scores.h"

namespace attnflow::internal {

// Positions outside [0, 1] are clamped.
Color scale_color(double position);

// For signed values, with `position` in [-1, 1]: ColorBrewer's red to blue, distinguishable by color-blind readers.
// Both ends are equally dark, so grayscale printing loses signs; figures label them next to the scale.
Color signed_color(double position);

// Relative luminance in [0, 1] as defined by WCAG 2.
double luminance(Color color);

Color readable_on(Color background);

// For cells without a value (division by zero in a normalization).
inline constexpr Color kNoValue{0xe4, 0xe0, 0xdc};

// For values above the scale: off the scale and no darker than it, or it would seem to be the answer.
inline constexpr Color kAbove{0xb4, 0xb8, 0xbe};

// A linear scale from `low`, nearly always 0, to `top`, or from -top to top with signs. Values above the top are gray
// and marked.
struct ColorScale {
  double low = 0.0;
  double top = 1.0;
  std::optional<double> above;  // the largest value above the top, if any
  bool has_signs = false;

  Color color(double value) const;
  // 0 at `low` and 1 at the top; negative for negative values on a scale with signs.
  double position(double value) const { return has_signs ? value / top : (value - low) / (top - low); }
  bool is_above(double value) const { return above && (value > top || (has_signs && value < -top)); }
};

// For the drops of a check: both ends are the largest one.
ColorScale scale_of_drops(const ReportCheck& check);

// Collects a panel's values to choose an informative top. Attention has sinks: special tokens, a decoder's first token
// and, if rows share a scale, the output tokens themselves. If the largest of those (`aside`) is more than twice the
// largest of the rest, the rest sets the top, or all other tokens would look alike; but values below a hundredth of the
// overall maximum never get a strong color. Flows often lie close together far above 0: if the smallest is at least
// half of the top, a flow scale begins there. The page has the same rules (viewer/src/color/ends.ts).
class ScaleBuilder {
 public:
  // Ignores values that are not finite. Values not `seen` (the 0 of tokens after a causal model's output token) do not
  // count as the smallest.
  void add(double value, bool aside, bool seen = true);
  ColorScale scale(bool of_flow = false) const;

 private:
  double least_ = std::numeric_limits<double>::infinity();
  double rest_ = 0.0;
  double aside_ = 0.0;
};

}  // namespace attnflow::internal
