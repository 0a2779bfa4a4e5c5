#include "attnflow/draw/picture_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "attnflow/draw/parts.h"
#include "attnflow/report/color_scale.h"
#include "attnflow/words/numbers.h"

namespace attnflow::internal {
namespace {

// Lower panels are small multiples: small titles, little space between them.
constexpr double kSmallPanel = 130.0;
constexpr double kLongestTitle = 150.0;  // a narrow picture's panel is widened up to this for its title
constexpr double kLeastRamp = 40.0;
constexpr double kWidestRamp = 150.0;
constexpr double kRowRamp = 120.0;
constexpr double kPitch = 1.35;  // line height in text sizes, as in add_wrapped

ColorBar bar_of(const PanelBar& bar, const TextMeasurer& measure) {
  return color_bar(short_number(bar.has_signs ? -bar.high : 0.0), short_number(bar.high), bar.has_signs, measure);
}

struct RowStyle {
  bool small = false;
  TextStyle title;
  double gap = 0.0;
};

RowStyle style_of(const PictureRow& row) {
  if (row.panel_height < kSmallPanel) return {.small = true, .title = {.size = kSmallSize}, .gap = 7.0};
  return {.title = {.size = kTitleSize, .bold = true}, .gap = 16.0};
}

PanelShape shape_of(const PicturePanel& panel, const RowStyle& style, const TextMeasurer& measure) {
  PanelShape shape{static_cast<double>(panel.width) / static_cast<double>(panel.height), 0.0};
  for (const auto& [text, text_style] : {std::pair{&panel.title, style.title}, {&panel.subtitle, kSmallGrey}}) {
    shape.least_width =
        std::max(shape.least_width, std::min(kLongestTitle, measure.width(clean_text(*text), text_style)));
  }
  if (panel.bar) {
    shape.least_width = std::max(shape.least_width, bar_of(*panel.bar, measure).ends_width() + kLeastRamp);
  }
  return shape;
}

double panel_width(const PanelShape& panel, double height) {
  return std::max(panel.aspect * height, panel.least_width);
}

bool fits(const std::vector<PanelShape>& panels, std::size_t per_line, double height, double width, double gap) {
  for (std::size_t begin = 0; begin < panels.size(); begin += per_line) {
    double used = -gap;
    for (std::size_t p = begin; p < std::min(panels.size(), begin + per_line); ++p) {
      used += gap + panel_width(panels[p], height);
    }
    if (used > width) return false;
  }
  return true;
}

// The part inside the picture, in pixels of the page; nothing if entirely outside.
std::optional<Rect> marked_area(const PanelMark& mark, const Rect& picture) {
  const double left = std::clamp(mark.x, 0.0, 1.0);
  const double top = std::clamp(mark.y, 0.0, 1.0);
  const double right = std::clamp(mark.x + mark.width, 0.0, 1.0);
  const double bottom = std::clamp(mark.y + mark.height, 0.0, 1.0);
  if (right <= left || bottom <= top) return std::nullopt;
  return Rect{picture.x + left * picture.width, picture.y + top * picture.height, (right - left) * picture.width,
              (bottom - top) * picture.height};
}

void draw_mark(const Rect& area, bool small, Scene* scene) {
  const double black = small ? 1.0 : 1.5;
  const double white = small ? 3.0 : 4.5;
  const double out = black / 2.0;
  const Rect outline{area.x - out, area.y - out, area.width + 2.0 * out, area.height + 2.0 * out};
  scene->rect(outline, stroked(kWhite, white, 0.9));
  scene->rect(outline, stroked(kBlack, black));
}

// Text heights above a line's pictures, for alignment.
struct HeadHeights {
  double title = 0.0;
  double all = 0.0;
};

Scene panel_scene(const PicturePanel& panel, const PanelShape& shape, const RowStyle& style, const HeadHeights& head,
                  double height, const TextMeasurer& measure) {
  Scene scene(measure);
  scene.width = panel_width(shape, height);
  const auto line = [&](const std::string& text, const TextStyle& text_style, double top) {
    scene.text({.at = {0.0, top + text_style.size},
                .text = measure.shortened(clean_text(text), text_style, scene.width),
                .style = text_style});
  };
  line(panel.title, style.title, 0.0);
  line(panel.subtitle, kSmallGrey, head.title);

  const Rect picture{0.0, head.all, shape.aspect * height, height};
  const bool enlarged = height >= 3.0 * static_cast<double>(panel.height);
  scene.bitmap(picture, {.png = std::make_shared<const std::string>(panel.png),
                         .sampling = enlarged ? Sampling::kPixels : Sampling::kSmooth,
                         .title = clean_text(panel.description)});
  scene.rect(picture, stroked(kLightGrey, 0.8));
  if (panel.mark) {
    if (const std::optional<Rect> area = marked_area(*panel.mark, picture)) draw_mark(*area, style.small, &scene);
  }
  scene.height = head.all + height + 4.0;
  if (panel.bar) {
    const ColorBar bar = bar_of(*panel.bar, measure);
    const double ramp = std::min(kWidestRamp, scene.width - bar.ends_width());
    draw_color_bar(bar, {0.0, scene.height + kSmallSize + 1.0}, ramp, &scene);
    scene.height += kSmallSize * kPitch + 2.0;
  }
  add_wrapped(clean_text(panel.caption), kSmallGrey, scene.width, &scene);
  return scene;
}

HeadHeights head_heights(const std::vector<PicturePanel>& panels, std::size_t begin, std::size_t end,
                         const RowStyle& style) {
  HeadHeights head;
  double subtitle = 0.0;
  for (std::size_t p = begin; p < end; ++p) {
    if (!panels[p].title.empty()) head.title = style.title.size * kPitch;
    if (!panels[p].subtitle.empty()) subtitle = kSmallSize * kPitch;
  }
  head.all = head.title + subtitle;
  if (head.all > 0.0) head.all += 2.0;
  return head;
}

// Heading and color bar on one line if both fit, else on two; `reach` is how far the panels extend to the right.
Scene heading_scene(const PictureRow& row, double reach, double width, const TextMeasurer& measure) {
  constexpr TextStyle kHeading{.size = kTitleSize, .bold = true};
  constexpr double kBetween = 20.0;
  Scene scene(measure);
  const std::string heading = measure.shortened(clean_text(row.heading), kHeading, width);
  const double heading_width = measure.width(heading, kHeading);
  if (!heading.empty()) {
    scene.text({.at = {0.0, kTitleSize + 1.0}, .text = heading, .style = kHeading});
    scene.width = heading_width;
    scene.height = kTitleSize * kPitch + 6.0;
  }
  if (!row.bar) return scene;
  const ColorBar bar = bar_of(*row.bar, measure);
  const double bar_width = bar.ends_width() + kRowRamp;
  double x = 0.0;
  double baseline = kTitleSize + 1.0;
  if (!heading.empty() && heading_width + kBetween + bar_width <= width) {
    x = std::max(reach, heading_width + kBetween + bar_width) - bar_width;
  } else {
    baseline = scene.height + kSmallSize;
    scene.height += kSmallSize * kPitch + 6.0;
  }
  draw_color_bar(bar, {x, baseline}, kRowRamp, &scene);
  scene.width = std::max(scene.width, x + bar_width);
  return scene;
}

}  // namespace

PanelFit fit_panels(const std::vector<PanelShape>& panels, double width, double height, double gap) {
  constexpr double kLeastShare = 2.0 / 3.0;
  constexpr double kLeastHeight = 2.0;  // for a picture that is very much wider than it is high
  constexpr int kHalvings = 40;
  const std::size_t count = panels.size();
  PanelFit fit;
  for (std::size_t lines = 1; lines <= count; ++lines) {
    const std::size_t per_line = (count + lines - 1) / lines;
    if (per_line == fit.per_line) continue;
    fit.per_line = per_line;
    if (fits(panels, per_line, height, width, gap)) {
      fit.height = height;
      return fit;
    }
    double low = 0.0;
    double high = height;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2.0;
      (fits(panels, per_line, middle, width, gap) ? low : high) = middle;
    }
    fit.height = std::max(kLeastHeight, low);
    if (low >= kLeastShare * height) return fit;
  }
  return fit;
}

Scene picture_row(const PictureRow& row, const std::string& id, double width, const TextMeasurer& measure) {
  const RowStyle style = style_of(row);
  const std::vector<PicturePanel>& panels = row.panels;
  std::vector<PanelShape> shapes;
  for (const PicturePanel& panel : panels) shapes.push_back(shape_of(panel, style, measure));
  const PanelFit fit = fit_panels(shapes, width, row.panel_height, style.gap);

  Scene lines(measure);
  for (std::size_t begin = 0; begin < panels.size(); begin += fit.per_line) {
    const std::size_t end = std::min(panels.size(), begin + fit.per_line);
    const HeadHeights head = head_heights(panels, begin, end, style);
    if (begin > 0) lines.height += style.small ? 6.0 : 12.0;
    double x = 0.0;
    double line_height = 0.0;
    for (std::size_t p = begin; p < end; ++p) {
      const Scene panel = panel_scene(panels[p], shapes[p], style, head, fit.height, measure);
      lines.begin_group({.id = fmt::format("{}-panel-{}", id, p + 1)});
      lines.add(panel, x, lines.height);
      lines.end_group();
      lines.width = std::max(lines.width, x + panel.width);
      x += panel.width + style.gap;
      line_height = std::max(line_height, panel.height);
    }
    lines.height += line_height;
  }

  const Scene heading = heading_scene(row, lines.width, width, measure);
  Scene scene(measure);
  scene.begin_group({.id = id});
  scene.add(heading, 0.0, 0.0);
  scene.add(lines, 0.0, heading.height);
  scene.end_group();
  scene.width = std::max(heading.width, lines.width);
  scene.height = heading.height + lines.height;
  return scene;
}

}  // namespace attnflow::internal
