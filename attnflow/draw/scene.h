// A drawing that remembers its marks: it can be moved into another drawing, asked where its labels stand, and replayed
// on any canvas.
#ifndef ATTNFLOW_DRAW_SCENE_H_
#define ATTNFLOW_DRAW_SCENE_H_

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "attnflow/draw/canvas.h"
#include "attnflow/draw/text_layout.h"

namespace attnflow::internal {

// The four corners of a line of text on the page, for checks that no two lines overlap.
struct LabelBox {
  std::string text;
  std::array<Point, 4> corners;
};

class Scene final : public Canvas {
 public:
  // The measurer must outlive the scene.
  explicit Scene(const TextMeasurer& measure) : measure_(&measure) {}

  // The space that the drawing needs, from (0, 0). Set by whoever lays it out.
  double width = 0.0;
  double height = 0.0;

  const TextMeasurer& measure() const { return *measure_; }

  void begin_group(const Group& group) override;
  void end_group() override;
  void rect(const Rect& rect, const Paint& paint, const std::string& title = {}) override;
  void line(Point from, Point to, const Paint& paint, const std::string& title = {}) override;
  void circle(Point center, double radius, const Paint& paint, const std::string& title = {}) override;
  void path(const Path& path, const Paint& paint, const std::string& title = {}) override;
  void image(const Rect& rect, const Image& image) override;
  void bitmap(const Rect& rect, const Bitmap& bitmap) override;
  // Measures the text; an empty one leaves no mark.
  void text(const Text& text) override;

  // Adds the marks of another scene, moved by (dx, dy).
  void add(const Scene& other, double dx, double dy);

  void replay(Canvas* canvas) const;

  std::vector<LabelBox> label_boxes() const;

 private:
  struct GroupEnd {};
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
    std::string title;
  };
  struct ImageMark {
    Rect rect;
    Image image;
  };
  struct BitmapMark {
    Rect rect;
    Bitmap bitmap;
  };
  using Mark = std::variant<Group, GroupEnd, RectMark, LineMark, CircleMark, PathMark, ImageMark, BitmapMark, Text>;

  const TextMeasurer* measure_;
  std::vector<Mark> marks_;
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_SCENE_H_
