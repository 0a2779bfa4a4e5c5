// Checks of label positions in a drawing.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <vector>

#include "attnflow/draw/scene.h"

namespace attnflow::internal {

// Four corners on the page.
struct LabelBox {
  std::string text;
  std::array<Point, 4> corners;
};

struct LabelCanvas {
  void operator()(const auto&) {}
  void operator()(const Text& text) {
    // A line's extent above and below its baseline, as fractions of its size, for Latin capitals with an accent and
    // descenders; fallback fonts may have taller line boxes with the same ink.
    constexpr double kAscent = 0.86;
    constexpr double kDescent = 0.24;
    const double left = text.anchor == Anchor::kStart ? 0.0 : text.anchor == Anchor::kMiddle ? -0.5 : -1.0;
    const double radians = text.angle * std::numbers::pi / 180.0;
    const auto corner = [&](double along, double up) {
      const double x = along * text.width;
      const double y = up * text.style.size;
      return Point{text.at.x + x * std::cos(radians) - y * std::sin(radians),
                   text.at.y + x * std::sin(radians) + y * std::cos(radians)};
    };
    boxes.push_back(
        {text.text,
         {corner(left, -kAscent), corner(left + 1.0, -kAscent), corner(left + 1.0, kDescent), corner(left, kDescent)}});
  }
  std::vector<LabelBox> boxes;
};

inline std::vector<LabelBox> label_boxes(const Scene& scene) {
  LabelCanvas canvas;
  scene.replay(canvas);
  return canvas.boxes;
}

// Rotated rectangles overlap unless an edge of one separates them (separating axis theorem).
inline bool overlap(const LabelBox& a, const LabelBox& b, double tolerance) {
  for (const LabelBox* box : {&a, &b}) {
    for (std::size_t e = 0; e < 2; ++e) {
      const Point from = box->corners[e];
      const Point to = box->corners[e + 1];
      const double length = std::hypot(to.x - from.x, to.y - from.y);
      if (length == 0.0) return false;
      const double x = (to.x - from.x) / length;
      const double y = (to.y - from.y) / length;
      double low[2] = {1e300, 1e300};
      double high[2] = {-1e300, -1e300};
      for (std::size_t which = 0; which < 2; ++which) {
        for (const Point& corner : (which == 0 ? a : b).corners) {
          low[which] = std::min(low[which], corner.x * x + corner.y * y);
          high[which] = std::max(high[which], corner.x * x + corner.y * y);
        }
      }
      if (high[0] <= low[1] + tolerance || high[1] <= low[0] + tolerance) return false;
    }
  }
  return true;
}

// No label extends beyond the page or touches another.
inline void expect_clear_labels(const Scene& scene, const std::string& name) {
  const std::vector<LabelBox> boxes = label_boxes(scene);
  ASSERT_FALSE(boxes.empty());
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (const Point& corner : boxes[i].corners) {
      ASSERT_TRUE(corner.x >= 0.0 && corner.x <= scene.width && corner.y >= 0.0 && corner.y <= scene.height)
          << name << ": '" << boxes[i].text << "' leaves the page";
    }
    for (std::size_t j = i + 1; j < boxes.size(); ++j) {
      // Letters of adjacent pieces of a word touch.
      ASSERT_FALSE(overlap(boxes[i], boxes[j], 0.5))
          << name << ": '" << boxes[i].text << "' and '" << boxes[j].text << "'";
    }
  }
}

}  // namespace attnflow::internal
