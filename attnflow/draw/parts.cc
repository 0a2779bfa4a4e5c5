#include "attnflow/draw/parts.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attnflow/words/numbers.h"

namespace attnflow::internal {
namespace {

constexpr double kLongestColumnLabel = 92.0;
constexpr double kLongestRowLabel = 110.0;
constexpr double kBarWidth = 76.0;
constexpr double kLeastBarWidth = 30.0;
constexpr double kHeadGap = 16.0;
constexpr double kBarHeight = 9.0;
constexpr double kAboveWidth = 14.0;
// Line height in text sizes.
constexpr double kLinePitch = 1.2;
// From a line's middle down to its baseline, in text sizes.
constexpr double kMiddleToBaseline = 0.35;

// Every k-th, and always the selected ones, which displace neighbors nearer than k.
std::vector<std::size_t> thinned(const std::vector<AxisLabel>& labels, std::size_t step) {
  std::vector<std::size_t> shown;
  std::vector<std::size_t> selected;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].selected && (selected.empty() || i >= selected.back() + step)) selected.push_back(i);
  }
  std::size_t next_selected = 0;
  std::size_t free_from = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (next_selected < selected.size() && i == selected[next_selected]) {
      shown.push_back(i);
      ++next_selected;
      free_from = i + step;
    } else if (i >= free_from && (next_selected == selected.size() || i + step <= selected[next_selected])) {
      shown.push_back(i);
      free_from = i + step;
    }
  }
  return shown;
}

std::size_t step_for(double pitch) {
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(kLabelSize * kLinePitch / pitch - 1e-9)));
}

}  // namespace

TextStyle label_style(const AxisLabel& label) {
  return {.size = kLabelSize,
          .color = label.special && !label.selected ? kGrey : kBlack,
          .bold = label.selected,
          .italic = label.special};
}

ColumnLabels lay_out_column_labels(const TextMeasurer& measure, const std::vector<AxisLabel>& labels, double pitch) {
  ColumnLabels layout;
  layout.pitch = pitch;
  layout.labels = labels;
  std::vector<double> widths;
  for (AxisLabel& label : layout.labels) {
    const TextStyle style = label_style(label);
    label.text = measure.shortened(label.text, style, kLongestColumnLabel);
    widths.push_back(measure.width(label.text, style));
  }
  const double widest = *std::max_element(widths.begin(), widths.end());
  const double line = kLabelSize * kLinePitch;
  std::size_t step = 1;
  if (widest + 6.0 <= pitch) {
    layout.angle = 0.0;
    layout.height = line + 4.0;
  } else if (pitch >= line * std::numbers::sqrt2) {
    layout.angle = -45.0;
    layout.height = (widest + line) / std::numbers::sqrt2 + 6.0;
  } else {
    layout.angle = -90.0;
    layout.height = widest + 7.0;
    step = step_for(pitch);
  }
  layout.shown = thinned(layout.labels, step);
  for (std::size_t column : layout.shown) {
    const double before = static_cast<double>(column) * pitch;
    const double after = static_cast<double>(labels.size() - 1 - column) * pitch;
    const double half = layout.angle == 0.0 ? widths[column] / 2.0 : line / 2.0;
    const double reach = layout.angle == -45.0 ? (widths[column] + line) / std::numbers::sqrt2 : half;
    layout.left = std::max(layout.left, reach - before);
    layout.right = std::max(layout.right, half - after);
  }
  return layout;
}

void draw_column_labels(const ColumnLabels& labels, double first_x, double y, Scene* scene) {
  for (std::size_t column : labels.shown) {
    const AxisLabel& label = labels.labels[column];
    Text text{.at = {}, .text = label.text, .style = label_style(label)};
    text.title = label.title;
    text.angle = labels.angle;
    const double x = first_x + static_cast<double>(column) * labels.pitch;
    if (labels.angle == 0.0) {
      text.at = {x, y + kLabelSize + 3.0};
      text.anchor = Anchor::kMiddle;
    } else if (labels.angle == -45.0) {
      text.at = {x + 0.3 * kLabelSize, y + 0.85 * kLabelSize};
      text.anchor = Anchor::kEnd;
    } else {
      text.at = {x + kMiddleToBaseline * kLabelSize, y + 5.0};
      text.anchor = Anchor::kEnd;
    }
    scene->text(text);
  }
}

RowLabels lay_out_row_labels(const TextMeasurer& measure, const std::vector<AxisLabel>& labels, double pitch) {
  RowLabels layout;
  layout.pitch = pitch;
  layout.labels = labels;
  for (AxisLabel& label : layout.labels) {
    const TextStyle style = label_style(label);
    label.text = measure.shortened(label.text, style, kLongestRowLabel);
    layout.width = std::max(layout.width, measure.width(label.text, style));
  }
  layout.shown = thinned(layout.labels, step_for(pitch));
  return layout;
}

void draw_row_labels(const RowLabels& labels, double x, double first_y, Scene* scene) {
  for (std::size_t row : labels.shown) {
    const AxisLabel& label = labels.labels[row];
    Text text{.at = {x, first_y + static_cast<double>(row) * labels.pitch + kMiddleToBaseline * kLabelSize},
              .text = label.text,
              .style = label_style(label),
              .anchor = Anchor::kEnd};
    text.title = label.title;
    scene->text(text);
  }
}

namespace {

constexpr double kBarGap = 4.0;

ColorBar scale_bar(const ColorScale& scale, const TextMeasurer& measure) {
  const std::string top = short_number(scale.top);
  return color_bar(scale.has_signs ? "\u2212" + top : short_number(scale.low), top, scale.has_signs, measure);
}

// The cell above the scale and its value.
double above_width(const ColorScale& scale, const TextMeasurer& measure) {
  if (!scale.above) return 0.0;
  return 2.0 * kBarGap + kAboveWidth + kBarGap + measure.width(short_number(*scale.above), kSmallGrey);
}

}  // namespace

double ColorBar::ends_width() const { return low_width + high_width + 2.0 * kBarGap; }

ColorBar color_bar(const std::string& low, const std::string& high, bool has_signs, const TextMeasurer& measure) {
  return {low, high, has_signs, measure.width(low, kSmallGrey), measure.width(high, kSmallGrey)};
}

void draw_color_bar(const ColorBar& bar, Point baseline, double ramp, Scene* scene) {
  scene->text({.at = baseline, .text = bar.low, .style = kSmallGrey});
  Image colors{.width = 96, .height = 1, .pixels = {}};
  for (std::size_t i = 0; i < colors.width; ++i) {
    const double position = static_cast<double>(i) / static_cast<double>(colors.width - 1);
    colors.pixels.push_back(bar.has_signs ? signed_color(2.0 * position - 1.0) : scale_color(position));
  }
  const Rect area{baseline.x + bar.low_width + kBarGap, baseline.y - kBarHeight + 1.0, ramp, kBarHeight};
  scene->image(area, colors);
  scene->rect(area, stroked(kLightGrey, 0.5));
  scene->text({.at = {area.x + ramp + kBarGap, baseline.y}, .text = bar.high, .style = kSmallGrey});
}

double panel_head_width(const TextMeasurer& measure, const PanelHead& head) {
  return measure.width(head.title, {.size = kTitleSize, .bold = true}) + kHeadGap +
         scale_bar(head.scale, measure).ends_width() + kLeastBarWidth + above_width(head.scale, measure);
}

void draw_panel_head(const PanelHead& head, double x, double width, Scene* scene) {
  const double baseline = 13.0;
  scene->text({.at = {x, baseline}, .text = head.title, .style = {.size = kTitleSize, .bold = true}});
  const ColorBar bar = scale_bar(head.scale, scene->measure());
  const double spare = width - panel_head_width(scene->measure(), head);
  const double ramp = std::clamp(kLeastBarWidth + spare, kLeastBarWidth, kBarWidth);
  const double bar_width = bar.ends_width() + ramp;
  double at = x + width - bar_width - above_width(head.scale, scene->measure());
  draw_color_bar(bar, {at, baseline}, ramp, scene);
  if (!head.scale.above) return;
  at += bar_width + 2.0 * kBarGap;
  const Rect cell{at, baseline - kBarHeight + 1.0, kAboveWidth, kBarHeight};
  scene->rect(cell, filled(head.scale.color(*head.scale.above)));
  draw_above_mark(cell, scene);
  scene->text(
      {.at = {at + kAboveWidth + kBarGap, baseline}, .text = short_number(*head.scale.above), .style = kSmallGrey});
}

void draw_above_mark(const Rect& cell, Scene* scene) {
  const double side = std::min({cell.width, cell.height, 10.0}) * 0.55;
  const double right = cell.x + cell.width;
  scene->path({{.kind = PathStep::Kind::kMove, .end = {right - side, cell.y}},
               {.kind = PathStep::Kind::kLine, .end = {right, cell.y}},
               {.kind = PathStep::Kind::kLine, .end = {right, cell.y + side}},
               {.kind = PathStep::Kind::kClose, .end = {}}},
              filled(kWhite));
}

void draw_hatching(const Rect& area, Scene* scene) {
  constexpr double kPitch = 4.0;
  // The line x + y = c, from the area's corner, enters on the left or at the bottom and leaves at the top or on the
  // right.
  Path path;
  for (double c = kPitch; c < area.width + area.height; c += kPitch) {
    const double left = std::max(0.0, c - area.height);
    const double right = std::min(area.width, c);
    path.push_back({.kind = PathStep::Kind::kMove, .end = {area.x + left, area.y + c - left}});
    path.push_back({.kind = PathStep::Kind::kLine, .end = {area.x + right, area.y + c - right}});
  }
  if (!path.empty()) scene->path(path, stroked(kLightGrey, 0.8));
}

void add_wrapped(const std::string& text, const TextStyle& style, double width, Scene* scene) {
  if (text.empty()) return;
  for (const std::string& line : scene->measure().wrapped(text, style, width)) {
    scene->text({.at = {0.0, scene->height + style.size}, .text = line, .style = style});
    scene->height += style.size * 1.35;
  }
}

Scene with_caption(const std::string& id, const Scene& panels, const std::string& caption, double width) {
  Scene scene(panels.measure());
  scene.begin_group({.id = id});
  scene.add(panels, 0.0, 0.0);
  scene.width = std::max(width, panels.width);
  scene.height = panels.height;
  if (!caption.empty()) scene.height += 6.0;
  add_wrapped(caption, kSmallGrey, width, &scene);
  scene.end_group();
  return scene;
}

Scene on_shelves(const std::vector<Scene>& panels, double width, double gap, const TextMeasurer& measure) {
  Scene page(measure);
  double x = 0.0;
  double shelf_height = 0.0;
  for (const Scene& panel : panels) {
    if (x > 0.0 && x + panel.width > width + 0.5) {
      page.height += shelf_height + gap;
      x = shelf_height = 0.0;
    }
    page.add(panel, x, page.height);
    page.width = std::max(page.width, x + panel.width);
    x += panel.width + gap;
    shelf_height = std::max(shelf_height, panel.height);
  }
  page.height += shelf_height;
  return page;
}

Scene stacked(const std::vector<Scene>& panels, double gap, const TextMeasurer& measure) {
  Scene page(measure);
  for (const Scene& panel : panels) {
    if (page.height > 0.0) page.height += gap;
    page.add(panel, 0.0, page.height);
    page.width = std::max(page.width, panel.width);
    page.height += panel.height;
  }
  return page;
}

}  // namespace attnflow::internal
