#include "attnflow/draw/scene.h"

#include <utility>
#include <variant>

namespace attnflow::internal {
namespace {

struct Mover {
  double dx;
  double dy;

  void move(Point& point) const { point.x += dx, point.y += dy; }
  void move(Rect& rect) const { rect.x += dx, rect.y += dy; }

  void operator()(Group& group) const {
    if (group.clip) move(*group.clip);
  }
  void operator()(GroupEnd&) const {}
  void operator()(RectMark& mark) const { move(mark.rect); }
  void operator()(LineMark& mark) const { move(mark.from), move(mark.to); }
  void operator()(CircleMark& mark) const { move(mark.center); }
  void operator()(PathMark& mark) const {
    for (PathStep& step : mark.path) move(step.end);
  }
  void operator()(ImageMark& mark) const { move(mark.rect); }
  void operator()(BitmapMark& mark) const { move(mark.rect); }
  void operator()(Text& mark) const { move(mark.at); }
};

}  // namespace

void Scene::text(const Text& text) {
  if (text.text.empty()) return;
  Text measured = text;
  measured.width = measure_->width(text.text, text.style);
  measured.right_to_left = measure_->right_to_left(text.text);
  marks_.push_back(std::move(measured));
}

void Scene::add(const Scene& other, double dx, double dy) {
  marks_.reserve(marks_.size() + other.marks_.size());
  for (const Mark& mark : other.marks_) std::visit(Mover{dx, dy}, marks_.emplace_back(mark));
}

}  // namespace attnflow::internal
