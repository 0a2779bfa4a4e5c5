// How large a figure is: its width on paper or on the screen, and the size of its text.
//
// A figure is laid out in pixels of 1/96 inch with labels of kLabelSize pixels, and drawn larger or smaller afterwards:
// text of f points in a figure of w pixels is a layout of w kLabelPoints / f pixels. So the text has the size that was
// asked for, and the layout (lines, panels beside each other, labels left out) is that of the room there is.
//
// A width in inches, centimeters, millimeters or points is one on paper: the margins are narrow, running text is as
// large as labels, the png has 300 pixels to an inch, and the svg states its size in the same unit. All files of such a
// figure have exactly that width: what does not fit is an error, which says the width that suffices.
#ifndef ATTNFLOW_DRAW_PAPER_H_
#define ATTNFLOW_DRAW_PAPER_H_

#include <optional>
#include <string>
#include <string_view>

namespace attnflow {

enum class LengthUnit { kPixels, kInches, kCentimeters, kMillimeters, kPoints };

struct Length {
  double value = 0.0;
  LengthUnit unit = LengthUnit::kPixels;

  Length(double pixels) : value(pixels) {}  // NOLINT(google-explicit-constructor): figures on screens count in pixels
  Length(double number, LengthUnit in) : value(number), unit(in) {}

  double pixels() const;  // of 1/96 inch
  bool on_paper() const { return unit != LengthUnit::kPixels; }
};

// "3.3in", "8.4cm", "84mm", "240pt", "900px". Throws Error(kUsage), which begins with `option`, for any other text and
// for a length that is not above 0.
Length parse_length(const std::string& option, const std::string& text);

// "8" or "8pt": points. Throws Error(kUsage) in the same way, and for a number outside of [2, 72].
double parse_font_size(const std::string& option, const std::string& text);

// "3.3in".
std::string to_text(const Length& length);

// Points of the labels of a figure that says nothing else.
inline constexpr double kLabelPoints = 7.5;

// The size of a figure as the command line and Python give it, whatever the figure shows.
struct PaperOptions {
  std::optional<Length> width;      // absent: 900 pixels
  std::optional<double> font_size;  // points; absent: kLabelPoints
  bool notes = true;                // false: neither title nor notes nor explanations, which a paper's caption has

  bool any() const { return width || font_size || !notes; }
};

}  // namespace attnflow

namespace attnflow::internal {

// How a page that was laid out becomes a file.
struct PageSize {
  Length width;        // of the file
  double scale = 1.0;  // pixels of 1/96 inch to one of the layout
  double margin = 0.0;

  double layout_width() const { return width.pixels() / scale; }
};

// Throws Error(kUsage): a width below a tenth of an inch or above 10000 pixels, a font size outside of [2, 72].
PageSize page_size(const Length& width, double font_size);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_PAPER_H_
