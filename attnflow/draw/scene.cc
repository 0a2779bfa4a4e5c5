#include "attnflow/draw/scene.h"

#include <cmath>
#include <numbers>
#include <utility>
#include <variant>

namespace attnflow::internal {
namespace {

// How far a line of text extends above and below its baseline, as fractions of its size. These are the extents of Latin
// capitals with an accent and of descenders; fallback fonts may have taller line boxes with the same ink.
constexpr double kAscent = 0.86;
constexpr double kDescent = 0.24;

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
    for (PathStep& step : mark.path) move(step.end), move(step.control1), move(step.control2);
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

std::vector<LabelBox> Scene::label_boxes() const {
  std::vector<LabelBox> boxes;
  for (const Mark& mark : marks_) {
    const Text* text = std::get_if<Text>(&mark);
    if (text == nullptr) continue;
    const double left = text->anchor == Anchor::kStart ? 0.0 : text->anchor == Anchor::kMiddle ? -0.5 : -1.0;
    const double x0 = left * text->width;
    const double x1 = x0 + text->width;
    const double y0 = -kAscent * text->style.size;
    const double y1 = kDescent * text->style.size;
    const double radians = text->angle * std::numbers::pi / 180.0;
    const auto turned = [&](double x, double y) {
      return Point{text->at.x + x * std::cos(radians) - y * std::sin(radians),
                   text->at.y + x * std::sin(radians) + y * std::cos(radians)};
    };
    boxes.push_back({text->text, {turned(x0, y0), turned(x1, y0), turned(x1, y1), turned(x0, y1)}});
  }
  return boxes;
}

}  // namespace attnflow::internal
