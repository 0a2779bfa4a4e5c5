// The marks that figures are drawn with: a small set that SVG and cairo render alike.
//
// Units are pixels of 1/96 inch, x to the right, y downward. Text is placed by its baseline. The page's size is known
// only after layout, so a drawing is first recorded in a Scene (scene.h), then replayed on SvgCanvas (svg_canvas.h) or
// CairoCanvas (cairo_canvas.h).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attnflow/report/color.h"

namespace attnflow::internal {

struct Point {
  double x = 0.0;
  double y = 0.0;
};

struct Rect {
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;
};

// Opacity applies to fill and stroke separately.
struct Paint {
  std::optional<Color> fill;
  std::optional<Color> stroke;
  double stroke_width = 1.0;
  double opacity = 1.0;
};

inline Paint filled(Color color) { return {.fill = color, .stroke = std::nullopt}; }
inline Paint stroked(Color color, double width, double opacity = 1.0) {
  return {.fill = std::nullopt, .stroke = color, .stroke_width = width, .opacity = opacity};
}

struct PathStep {
  enum class Kind { kMove, kLine, kClose };
  Kind kind = Kind::kMove;
  Point end = {};  // move, line
};
using Path = std::vector<PathStep>;

// Row-major pixels, top row first. Drawn unsmoothed: every pixel is a visible cell.
struct Image {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<Color> pixels;
};

enum class Sampling {
  kSmooth,  // photographs: colors are interpolated
  kPixels,  // small pictures drawn large: every pixel is a visible square
};

// A PNG of any size, drawn into a rectangle.
struct Bitmap {
  std::shared_ptr<const std::string> png;  // the bytes of the file; never null
  Sampling sampling = Sampling::kSmooth;
  std::string title = {};  // the tooltip, and the text alternative
};

enum class Anchor { kStart, kMiddle, kEnd };

struct TextStyle {
  double size = 10.0;
  Color color = kBlack;
  bool bold = false;
  bool italic = false;
};

// Bytes [begin, end) of a text.
struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  Color color;
};

// One line of text. `at` is the baseline point selected by `anchor`: the left end, middle or right end on the page,
// even for right-to-left text. The line is rotated around `at` by `angle` degrees, clockwise. Spans, if any, cover the
// text in order.
struct Text {
  Point at;
  std::string text;  // see clean_text (text_layout.h)
  TextStyle style;
  Anchor anchor = Anchor::kStart;
  double angle = 0.0;
  std::vector<TextSpan> spans = {};
  std::string title = {};
  double width = 0.0;          // measured; filled in by Scene
  bool right_to_left = false;  // for the whole line; filled in by Scene
};

// The id is unique in a figure and stable: it names what is shown, not how it was drawn.
struct Group {
  std::string id;
  std::optional<Rect> clip = std::nullopt;
};

struct GroupEnd {};

// `title` is the tooltip of a mark, "" for none; only SVG has tooltips.
struct RectMark {
  Rect rect;
  Paint paint;
  std::string title;
};
struct LineMark {
  Point from, to;
  Paint paint;
  std::string title;
};
struct CircleMark {
  Point center;
  double radius;
  Paint paint;
  std::string title;
};
struct PathMark {
  Path path;
  Paint paint;
};
struct ImageMark {
  Rect rect;
  Image image;
};
// Fills the rectangle, whatever its aspect ratio.
struct BitmapMark {
  Rect rect;
  Bitmap bitmap;
};
using Mark = std::variant<Group, GroupEnd, RectMark, LineMark, CircleMark, PathMark, ImageMark, BitmapMark, Text>;

}  // namespace attnflow::internal
