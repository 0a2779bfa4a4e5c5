// The size of a figure: its width on paper or on screen, and the size of its text.
//
// A figure is laid out in pixels of 1/96 inch with labels of kLabelSize pixels, and then scaled: text of f points in a
// figure of w pixels needs a layout of w kLabelPoints / f pixels. So the text has the requested size, and the layout
// fits the room.
//
// A width in inches, centimeters, millimeters or points is a paper width: margins are narrow, running text is as large
// as labels, the PNG has 300 pixels per inch, and the SVG states its size in the same unit. All files have exactly that
// width: content that does not fit is an error, which gives a sufficient width.
#pragma once

#include <optional>
#include <string>

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

// Parses "3.3in", "8.4cm", "84mm", "240pt", "900px". Throws Error(kUsage), with a message beginning with `option`, for
// other text and lengths that are not positive.
Length parse_length(const std::string& option, const std::string& text);

// Parses "8" or "8pt" as points. Throws Error(kUsage) likewise, and for a number outside [2, 72].
double parse_font_size(const std::string& option, const std::string& text);

std::string to_text(const Length& length);

// Default label size, in points.
inline constexpr double kLabelPoints = 7.5;

// A figure's size, as given on the command line and in Python.
struct PaperOptions {
  std::optional<Length> width;      // absent: 900 pixels
  std::optional<double> font_size;  // points; absent: kLabelPoints
  bool notes = true;                // false: no title, notes or explanations, which a paper's caption has

  bool any() const { return width || font_size || !notes; }
};

}  // namespace attnflow

namespace attnflow::internal {

struct PageSize {
  Length width;        // of the file
  double scale = 1.0;  // pixels of 1/96 inch per pixel of the layout
  double margin = 0.0;

  double layout_width() const { return width.pixels() / scale; }
};

// Throws Error(kUsage) for a width below a tenth of an inch or above 10000 pixels, or a font size outside [2, 72].
PageSize page_size(const Length& width, double font_size);

}  // namespace attnflow::internal
