#include "attnflow/draw/scene.h"

#include <cmath>
#include <numbers>
#include <utility>
#include <variant>

namespace attnflow::internal {
namespace {

// One callable made of several, for std::visit.
template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

// A line of text reaches this far above and below its baseline, in parts of its size. These are the extents of Latin
// capitals with an accent and of descenders; fallback fonts may have taller line boxes with the same ink.
constexpr double kAscent = 0.86;
constexpr double kDescent = 0.24;

}  // namespace

void Scene::begin_group(const Group& group) { marks_.emplace_back(std::in_place_type<Group>, group); }

void Scene::end_group() { marks_.emplace_back(std::in_place_type<GroupEnd>); }

void Scene::rect(const Rect& rect, const Paint& paint, const std::string& title) {
  marks_.emplace_back(std::in_place_type<RectMark>, RectMark{rect, paint, title});
}

void Scene::line(Point from, Point to, const Paint& paint, const std::string& title) {
  marks_.emplace_back(std::in_place_type<LineMark>, LineMark{from, to, paint, title});
}

void Scene::circle(Point center, double radius, const Paint& paint, const std::string& title) {
  marks_.emplace_back(std::in_place_type<CircleMark>, CircleMark{center, radius, paint, title});
}

void Scene::path(const Path& path, const Paint& paint, const std::string& title) {
  marks_.emplace_back(std::in_place_type<PathMark>, PathMark{path, paint, title});
}

void Scene::image(const Rect& rect, const Image& image) {
  marks_.emplace_back(std::in_place_type<ImageMark>, ImageMark{rect, image});
}

void Scene::bitmap(const Rect& rect, const Bitmap& bitmap) {
  marks_.emplace_back(std::in_place_type<BitmapMark>, BitmapMark{rect, bitmap});
}

void Scene::text(const Text& text) {
  if (text.text.empty()) return;
  Text measured = text;
  measured.width = measure_->width(text.text, text.style);
  measured.right_to_left = measure_->right_to_left(text.text);
  marks_.push_back(std::move(measured));
}

void Scene::add(const Scene& other, double dx, double dy) {
  const auto move = [&](Point* point) { point->x += dx, point->y += dy; };
  const auto move_rect = [&](Rect* rect) { rect->x += dx, rect->y += dy; };
  marks_.reserve(marks_.size() + other.marks_.size());
  for (Mark mark : other.marks_) {
    std::visit(Overloaded{
                   [&](Group& group) {
                     if (group.clip) move_rect(&*group.clip);
                   },
                   [](GroupEnd&) {},
                   [&](RectMark& m) { move_rect(&m.rect); },
                   [&](LineMark& m) { move(&m.from), move(&m.to); },
                   [&](CircleMark& m) { move(&m.center); },
                   [&](PathMark& m) {
                     for (PathStep& step : m.path) move(&step.end), move(&step.control1), move(&step.control2);
                   },
                   [&](ImageMark& m) { move_rect(&m.rect); },
                   [&](BitmapMark& m) { move_rect(&m.rect); },
                   [&](Text& m) { move(&m.at); },
               },
               mark);
    marks_.push_back(std::move(mark));
  }
}

void Scene::replay(Canvas* canvas) const {
  for (const Mark& mark : marks_) {
    std::visit(Overloaded{
                   [&](const Group& group) { canvas->begin_group(group); },
                   [&](const GroupEnd&) { canvas->end_group(); },
                   [&](const RectMark& m) { canvas->rect(m.rect, m.paint, m.title); },
                   [&](const LineMark& m) { canvas->line(m.from, m.to, m.paint, m.title); },
                   [&](const CircleMark& m) { canvas->circle(m.center, m.radius, m.paint, m.title); },
                   [&](const PathMark& m) { canvas->path(m.path, m.paint, m.title); },
                   [&](const ImageMark& m) { canvas->image(m.rect, m.image); },
                   [&](const BitmapMark& m) { canvas->bitmap(m.rect, m.bitmap); },
                   [&](const Text& m) { canvas->text(m); },
               },
               mark);
  }
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
