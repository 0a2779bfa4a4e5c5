// A recorded drawing: it can be added to another drawing, and replayed on any canvas.
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

  // The space that the drawing needs, from (0, 0). Set by the code that lays it out.
  double width = 0.0;
  double height = 0.0;
  // The size of the file made from a page; absent: one pixel of 1/96 inch per pixel of the drawing.
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
  // Measures and adds the text; an empty text leaves no mark.
  void text(const Text& text);

  // Adds the marks of another scene, moved by (dx, dy).
  void add(const Scene& other, double dx, double dy);

  // Passes the marks to a canvas in order, through its operator() for each kind.
  template <typename Canvas>
  void replay(Canvas& canvas) const {
    for (const Mark& mark : marks_) std::visit(canvas, mark);
  }

 private:
  const TextMeasurer* measure_;
  std::vector<Mark> marks_;
};

}  // namespace attnflow::internal
