// A recorded drawing, to be added to another or replayed on a canvas.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attnflow/draw/canvas.h"
#include "attnflow/draw/paper.h"
#include "attnflow/draw/text_layout.h"

namespace attnflow::internal {

class Scene {
 public:
  // The measurer must outlive the scene.
  explicit Scene(const TextMeasurer& measure) : measure_(&measure) {}

  // The space needed, from (0, 0). Set by the layout code.
  double width = 0.0;
  double height = 0.0;
  // The file's size; absent: one pixel of 1/96 inch per pixel of the drawing.
  std::optional<PageSize> size = {};

  double scale() const { return size ? size->scale : 1.0; }

  const TextMeasurer& measure() const { return *measure_; }

  void begin_group(const Group& group) { marks_.emplace_back(group); }
  void end_group() { marks_.emplace_back(GroupEnd{}); }
  void rect(const Rect& rect, const Paint& paint, const std::string& title = {}) {
    marks_.emplace_back(RectMark{rect, paint, title});
  }
  void line(Point from, Point to, const Paint& paint, const std::string& title = {}) {
    marks_.emplace_back(LineMark{from, to, paint, title});
  }
  void circle(Point center, double radius, const Paint& paint, const std::string& title = {}) {
    marks_.emplace_back(CircleMark{center, radius, paint, title});
  }
  void path(const Path& path, const Paint& paint) { marks_.emplace_back(PathMark{path, paint}); }
  void image(const Rect& rect, const Image& image) { marks_.emplace_back(ImageMark{rect, image}); }
  void bitmap(const Rect& rect, const Bitmap& bitmap) { marks_.emplace_back(BitmapMark{rect, bitmap}); }
  // An empty text leaves no mark.
  void text(const Text& text);

  void add(const Scene& other, double dx, double dy);

  // Passes the marks in order to the canvas's operator() for each kind.
  template <typename Canvas>
  void replay(Canvas& canvas) const {
    for (const Mark& mark : marks_) std::visit(canvas, mark);
  }

 private:
  const TextMeasurer* measure_;
  std::vector<Mark> marks_;
};

}  // namespace attnflow::internal
