// From values to colours.
//
// The colours are the nine blues of ColorBrewer (Harrower & Brewer, "ColorBrewer.org", The Cartographic Journal 40,
// 2003; attnflow/base/figures.json), interpolated in CIE L*a*b* as on the page (viewer/src/color/lab.ts): lightness
// falls with the value, so the order survives colour blindness and grey print.
#ifndef ATTNFLOW_DRAW_COLOR_SCALE_H_
#define ATTNFLOW_DRAW_COLOR_SCALE_H_

#include <limits>
#include <optional>
#include <string>

#include "attnflow/draw/canvas.h"

namespace attnflow::internal {

// The colour at `position` in [0, 1]; positions outside are taken to the nearer end.
Color scale_color(double position);

// The same for values with signs, `position` in [-1, 1]: ColorBrewer's red to blue, which colour-blind readers tell
// apart. Both ends are as dark, so in grey print the signs are lost: figures write them beside the scale.
Color signed_color(double position);

// Relative luminance in [0, 1] as WCAG 2 defines it.
double luminance(Color color);

// Black or white, whichever is easier to read on this background.
Color readable_on(Color background);

// Cells without a value (division by nothing in a normalisation).
inline constexpr Color kNoValue{0xe4, 0xe0, 0xdc};

// What lies above the scale, in no colour that it has: no darker than what is within, or it would seem to be the
// answer.
inline constexpr Color kAbove{0xb4, 0xb8, 0xbe};

// A linear scale from `low`, 0 nearly always, to `top`, or with signs from -top to top. Values that do not set the top
// may lie above it; they are gray and marked.
struct ColorScale {
  double low = 0.0;
  double top = 1.0;
  std::optional<double> above;  // the largest value above the top, when there is one
  bool has_signs = false;

  Color color(double value) const;
  bool is_above(double value) const { return above && (value > top || (has_signs && value < -top)); }
};

// Collects the values that a panel shows, for a scale whose top informs. Attention has sinks: special tokens, a
// decoder's first token; and where several rows share a scale, the output tokens themselves. Where the largest value of
// those (`aside`) is more than twice the largest of the rest, the rest sets the top, or all other tokens would look
// alike; but what is less than a hundredth of the largest value has no strong colour. Flows often lie close together
// far above 0: where the least is at least half of the top, a scale of flow begins there. The page has the same rules
// (viewer/src/color/ends.ts).
class ScaleBuilder {
 public:
  // Values that are not finite are left out; what was not `seen` (the 0 of what comes after a causal model's output
  // token) is not the least.
  void add(double value, bool aside, bool seen = true);
  ColorScale scale(bool of_flow = false) const;

 private:
  double least_ = std::numeric_limits<double>::infinity();
  double rest_ = 0.0;
  double aside_ = 0.0;
};

// Three significant digits: "0.0123", "1", "1.2e-05".
std::string short_number(double value);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_COLOR_SCALE_H_
