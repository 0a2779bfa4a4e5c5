// From values to colours.
//
// The colours are the nine blues of ColorBrewer (Harrower & Brewer, "ColorBrewer.org", The Cartographic Journal 40,
// 2003; attnflow/base/figures.json), interpolated in CIE L*a*b* as on the page (viewer/src/color/lab.ts): lightness
// falls with the value, so the order survives colour blindness and grey print.
#ifndef ATTNFLOW_DRAW_COLOR_SCALE_H_
#define ATTNFLOW_DRAW_COLOR_SCALE_H_

#include <optional>
#include <string>

#include "attnflow/draw/canvas.h"

namespace attnflow::internal {

// The colour at `position` in [0, 1]; positions outside are taken to the nearer end.
Color scale_color(double position);

// Relative luminance in [0, 1] as WCAG 2 defines it.
double luminance(Color color);

// Black or white, whichever is easier to read on this background.
Color readable_on(Color background);

// Cells without a value (division by nothing in a normalisation).
inline constexpr Color kNoValue{0xe4, 0xe0, 0xdc};

// A linear scale from 0 to `top`. Values that do not set the top may lie above it; they are drawn in the top colour and
// marked.
struct ColorScale {
  double top = 1.0;
  std::optional<double> above;  // the largest value above the top, when there is one

  Color color(double value) const;
  bool is_above(double value) const { return above && value > top; }
};

// Collects the values that a panel shows.
class ScaleBuilder {
 public:
  // Values that are not finite are left out. The top of the scale is set by those that are not `aside`, unless all that
  // are above zero are.
  void add(double value, bool aside);
  ColorScale scale() const;

 private:
  double ordinary_ = 0.0;
  double all_ = 0.0;
};

// Three significant digits: "0.0123", "1", "1.2e-05".
std::string short_number(double value);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_COLOR_SCALE_H_
