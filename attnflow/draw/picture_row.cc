#include "attnflow/draw/picture_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "attnflow/draw/color_scale.h"
#include "attnflow/draw/parts.h"
#include "attnflow/words/numbers.h"

namespace attnflow::internal {
namespace {

// Panels below this height are small multiples: small titles, little space between them.
constexpr double kSmallPanel = 130.0;
constexpr double kLongestTitle = 150.0;  // a narrow picture's panel is widened up to this for its title
constexpr double kLeastRamp = 40.0;
constexpr double kWidestRamp = 150.0;
constexpr double kRowRamp = 120.0;
constexpr double kPitch = 1.35;  // line height, as a multiple of the text size, as in draw_wrapped

// ---- Color bars ----

ColorBar bar_of(const PanelBar& bar, const TextMeasurer& measure) {
  return color_bar(short_number(bar.low), short_number(bar.high), bar.has_signs, measure);
}

std::string bar_label(const PanelBar& bar) {
  std::string label = clean_text(bar.label);
  if (bar.above) label += (label.empty() ? "largest: " : "; largest: ") + short_number(*bar.above);
  return label;
}

// ---- Panels ----

struct Panel {
  const PicturePanel* source = nullptr;
  PngSize size;
  double aspect = 1.0;
  double least_width = 0.0;
};

struct RowStyle {
  bool small = false;
  TextStyle title;
  double gap = 0.0;
};

RowStyle style_of(const PictureRow& row) {
  RowStyle style;
  style.small = row.panel_height < kSmallPanel;
  style.title = style.small ? TextStyle{.size = kSmallSize} : TextStyle{.size = kTitleSize, .bold = true};
  style.gap = style.small ? 7.0 : 16.0;
  return style;
}

Panel measured(const PicturePanel& source, const RowStyle& style, const TextMeasurer& measure) {
  Panel panel{.source = &source, .size = png_size(source.png).value()};
  panel.aspect = static_cast<double>(panel.size.width) / static_cast<double>(panel.size.height);
  for (const auto& [text, text_style] : {std::pair{&source.title, style.title}, {&source.subtitle, kSmallGrey}}) {
    panel.least_width =
        std::max(panel.least_width, std::min(kLongestTitle, measure.width(clean_text(*text), text_style)));
  }
  if (source.bar)
    panel.least_width = std::max(panel.least_width, bar_of(*source.bar, measure).ends_width() + kLeastRamp);
  return panel;
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

// The part of a marked rectangle that is inside the picture, in pixels of the page; nothing if it is entirely outside.
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
  // The lines are outside the marked area.
  const double black = small ? 1.0 : 1.5;
  const double white = small ? 3.0 : 4.5;
  const double out = black / 2.0;
  const Rect outline{area.x - out, area.y - out, area.width + 2.0 * out, area.height + 2.0 * out};
  scene->rect(outline, stroked(kWhite, white, 0.9));
  scene->rect(outline, stroked(kBlack, black));
}

Sampling sampling_of(const Panel& panel, double height) {
  switch (panel.source->sampling) {
    case PanelSampling::kSmooth:
      return Sampling::kSmooth;
    case PanelSampling::kPixels:
      return Sampling::kPixels;
    case PanelSampling::kAuto:
      break;
  }
  return height >= 3.0 * static_cast<double>(panel.size.height) ? Sampling::kPixels : Sampling::kSmooth;
}

// Heights of the texts above the pictures of a line, so that the pictures are aligned.
struct HeadHeights {
  double title = 0.0;
  double all = 0.0;
};

Scene panel_scene(const Panel& panel, const RowStyle& style, const HeadHeights& head, double height,
                  const TextMeasurer& measure) {
  const PicturePanel& source = *panel.source;
  Scene scene(measure);
  scene.width = panel_width({panel.aspect, panel.least_width}, height);
  const auto line = [&](const std::string& text, const TextStyle& text_style, double top) {
    scene.text({.at = {0.0, top + text_style.size},
                .text = measure.shortened(clean_text(text), text_style, scene.width),
                .style = text_style});
  };
  line(source.title, style.title, 0.0);
  line(source.subtitle, kSmallGrey, head.title);

  const Rect picture{0.0, head.all, panel.aspect * height, height};
  scene.bitmap(picture, {.png = std::make_shared<const std::string>(source.png),
                         .sampling = sampling_of(panel, height),
                         .title = clean_text(source.description)});
  scene.rect(picture, stroked(kLightGrey, 0.8));
  if (source.mark) {
    if (const std::optional<Rect> area = marked_area(*source.mark, picture)) draw_mark(*area, style.small, &scene);
  }
  scene.height = head.all + height + 4.0;
  if (source.bar) {
    const ColorBar bar = bar_of(*source.bar, measure);
    const double ramp = std::min(kWidestRamp, scene.width - bar.ends_width());
    draw_color_bar(bar, {0.0, scene.height + kSmallSize + 1.0}, ramp, &scene);
    scene.height += kSmallSize * kPitch + 2.0;
    scene.height += draw_wrapped(bar_label(*source.bar), kSmallGrey, {0.0, scene.height}, scene.width, &scene);
  }
  scene.height += draw_wrapped(clean_text(source.caption), kSmallGrey, {0.0, scene.height}, scene.width, &scene);
  return scene;
}

HeadHeights head_heights(const std::vector<Panel>& panels, std::size_t begin, std::size_t end, const RowStyle& style) {
  HeadHeights head;
  double subtitle = 0.0;
  for (std::size_t p = begin; p < end; ++p) {
    if (!panels[p].source->title.empty()) head.title = style.title.size * kPitch;
    if (!panels[p].source->subtitle.empty()) subtitle = kSmallSize * kPitch;
  }
  head.all = head.title + subtitle;
  if (head.all > 0.0) head.all += 2.0;
  return head;
}

// Heading on the left and color bar on the right on one line if both fit, else on two; `reach` is how far the panels
// extend to the right.
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
  const std::string label = measure.shortened(bar_label(*row.bar), kSmallGrey, width - bar_width - 8.0);
  const double label_width = label.empty() ? 0.0 : measure.width(label, kSmallGrey) + 8.0;
  const double all = label_width + bar_width;
  double x = 0.0;
  double baseline = kTitleSize + 1.0;
  if (!heading.empty() && heading_width + kBetween + all <= width) {
    x = std::max(reach, heading_width + kBetween + all) - all;
  } else {
    baseline = scene.height + kSmallSize;
    scene.height += kSmallSize * kPitch + 6.0;
  }
  scene.text({.at = {x, baseline}, .text = label, .style = kSmallGrey});
  draw_color_bar(bar, {x + label_width, baseline}, kRowRamp, &scene);
  scene.width = std::max(scene.width, x + all);
  return scene;
}

}  // namespace

std::optional<PngSize> png_size(const std::string& bytes) {
  // Signature, then the IHDR chunk: length 13, its name, width and height, most significant byte first.
  static constexpr std::array<unsigned char, 16> kBegin = {0x89, 'P', 'N', 'G',  '\r', '\n', 0x1a, '\n',
                                                           0,    0,   0,   0x0d, 'I',  'H',  'D',  'R'};
  if (bytes.size() < kBegin.size() + 8) return std::nullopt;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  for (std::size_t i = 0; i < kBegin.size(); ++i) {
    if (byte(i) != kBegin[i]) return std::nullopt;
  }
  const auto number = [&](std::size_t at) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | byte(at + i);
    return value;
  };
  const PngSize size{number(kBegin.size()), number(kBegin.size() + 4)};
  if (size.width == 0 || size.height == 0) return std::nullopt;
  return size;
}

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
  std::vector<Panel> panels;
  std::vector<PanelShape> shapes;
  for (const PicturePanel& source : row.panels) {
    panels.push_back(measured(source, style, measure));
    shapes.push_back({panels.back().aspect, panels.back().least_width});
  }
  const PanelFit fit = fit_panels(shapes, width, row.panel_height, style.gap);

  Scene lines(measure);
  for (std::size_t begin = 0; begin < panels.size(); begin += fit.per_line) {
    const std::size_t end = std::min(panels.size(), begin + fit.per_line);
    const HeadHeights head = head_heights(panels, begin, end, style);
    if (begin > 0) lines.height += style.small ? 6.0 : 12.0;
    double x = 0.0;
    double line_height = 0.0;
    for (std::size_t p = begin; p < end; ++p) {
      const Scene panel = panel_scene(panels[p], style, head, fit.height, measure);
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
