#include "attnflow/draw/svg_canvas.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <numbers>
#include <span>
#include <string_view>

#include "attnflow/base/base64.h"
#include "attnflow/draw/cairo_canvas.h"
#include "attnflow/draw/markup.h"

namespace attnflow::internal {
namespace {

std::string hex(Color color) { return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue); }

class SvgCanvas {
 public:
  std::string take() { return std::move(out_); }

  void operator()(const Group& group) {
    const std::string id = xml_escaped("attnflow-" + group.id);
    if (group.clip) out_ += fmt::format("<clipPath id=\"{}-clip\"><rect{}/></clipPath>\n", id, box(*group.clip));
    out_ += fmt::format("<g id=\"{}\"", id);
    if (group.clip) out_ += fmt::format(" clip-path=\"url(#{}-clip)\"", id);
    out_ += ">\n";
  }

  void operator()(const GroupEnd&) { out_ += "</g>\n"; }

  void operator()(const RectMark& mark) { finish("rect", "<rect" + box(mark.rect) + look(mark.paint), mark.title); }

  void operator()(const LineMark& mark) {
    finish("line",
           fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"{}", svg_number(mark.from.x),
                       svg_number(mark.from.y), svg_number(mark.to.x), svg_number(mark.to.y), look(mark.paint)),
           mark.title);
  }

  void operator()(const CircleMark& mark) {
    finish("circle",
           fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}", svg_number(mark.center.x), svg_number(mark.center.y),
                       svg_number(mark.radius), look(mark.paint)),
           mark.title);
  }

  void operator()(const PathMark& mark) {
    const auto point = [](Point p) { return svg_number(p.x) + " " + svg_number(p.y); };
    std::string d;
    for (const PathStep& step : mark.path) {
      const bool moves = step.kind == PathStep::Kind::kMove;
      d += step.kind == PathStep::Kind::kClose ? "Z" : (moves ? "M" : "L") + point(step.end);
    }
    finish("path", "<path d=\"" + d + "\"" + look(mark.paint), "");
  }

  void operator()(const ImageMark& mark) {
    embed(mark.rect, encode_png(mark.image), Sampling::kPixels);
    out_ += "/>\n";
  }

  void operator()(const BitmapMark& mark) {
    embed(mark.rect, *mark.bitmap.png, mark.bitmap.sampling);
    finish("image", "", mark.bitmap.title);
  }

  void operator()(const Text& text) {
    // Viewers disagree about the end that an anchor means in right-to-left text, but not about the middle.
    Text placed = text;
    if (text.right_to_left && text.anchor != Anchor::kMiddle) {
      const double shift = (text.anchor == Anchor::kStart ? 0.5 : -0.5) * text.width;
      const double radians = text.angle * std::numbers::pi / 180.0;
      placed.at.x += shift * std::cos(radians);
      placed.at.y += shift * std::sin(radians);
      placed.anchor = Anchor::kMiddle;
    }
    std::string head = fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\"", svg_number(placed.at.x),
                                   svg_number(placed.at.y), svg_number(placed.style.size));
    if (placed.anchor == Anchor::kMiddle) head += " text-anchor=\"middle\"";
    if (placed.anchor == Anchor::kEnd) head += " text-anchor=\"end\"";
    if (placed.style.bold) head += " font-weight=\"bold\"";
    if (placed.style.italic) head += " font-style=\"italic\"";
    if (text.right_to_left) head += " direction=\"rtl\"";
    if (placed.style.color != kBlack) head += " fill=\"" + hex(placed.style.color) + "\"";
    if (placed.angle != 0.0) {
      head += fmt::format(" transform=\"rotate({} {} {})\"", svg_number(placed.angle), svg_number(placed.at.x),
                          svg_number(placed.at.y));
    }
    if (placed.text.front() == ' ' || placed.text.back() == ' ' || placed.text.find("  ") != std::string::npos) {
      head += " xml:space=\"preserve\"";
    }
    out_ += head + ">";
    if (!placed.title.empty()) out_ += "<title>" + xml_escaped(placed.title) + "</title>";
    if (placed.spans.empty()) {
      out_ += xml_escaped(placed.text);
    } else {
      std::size_t written = 0;
      for (const TextSpan& span : placed.spans) {
        out_ += xml_escaped(placed.text.substr(written, span.begin - written));
        out_ += "<tspan fill=\"" + hex(span.color) + "\">" +
                xml_escaped(placed.text.substr(span.begin, span.end - span.begin)) + "</tspan>";
        written = span.end;
      }
      out_ += xml_escaped(placed.text.substr(written));
    }
    out_ += "</text>\n";
  }

 private:
  void embed(const Rect& rect, const std::string& png, Sampling sampling) {
    out_ += "<image" + box(rect) + " preserveAspectRatio=\"none\"";
    if (sampling == Sampling::kPixels) out_ += " style=\"image-rendering:crisp-edges;image-rendering:pixelated\"";
    out_ += " xlink:href=\"data:image/png;base64,";
    base64_append(out_, std::as_bytes(std::span(png)));
    out_ += "\"";
  }

  static std::string box(const Rect& rect) {
    return fmt::format(" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", svg_number(rect.x), svg_number(rect.y),
                       svg_number(rect.width), svg_number(rect.height));
  }

  static std::string look(const Paint& paint) {
    std::string attributes = paint.fill ? " fill=\"" + hex(*paint.fill) + "\"" : " fill=\"none\"";
    if (paint.fill && paint.opacity != 1.0) attributes += " fill-opacity=\"" + svg_number(paint.opacity) + "\"";
    if (paint.stroke) {
      attributes += " stroke=\"" + hex(*paint.stroke) + "\"";
      if (paint.stroke_width != 1.0) attributes += " stroke-width=\"" + svg_number(paint.stroke_width) + "\"";
      if (paint.opacity != 1.0) attributes += " stroke-opacity=\"" + svg_number(paint.opacity) + "\"";
    }
    return attributes;
  }

  void finish(const char* element, const std::string& opened, const std::string& title) {
    out_ += opened;
    if (title.empty()) {
      out_ += "/>\n";
    } else {
      out_ += fmt::format("><title>{}</title></{}>\n", xml_escaped(title), element);
    }
  }

  std::string out_;
};

}  // namespace

std::string svg_number(double value) {
  assert(std::isfinite(value));
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string scene_to_svg(const Scene& scene, const std::string& description) {
  SvgCanvas canvas;
  scene.replay(canvas);
  const std::string width = svg_number(scene.width);
  const std::string height = svg_number(scene.height);
  const Length wide = scene.size ? scene.size->width : Length(scene.width);
  const Length high(wide.value * scene.height / scene.width, wide.unit);
  const auto side = [](const Length& length) { return length.on_paper() ? to_text(length) : svg_number(length.value); };
  const std::string& language = scene.measure().language();
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" version=\"1.1\" "
      "width=\"{6}\" height=\"{7}\" viewBox=\"0 0 {0} {1}\" role=\"img\" xml:lang=\"{2}\" lang=\"{2}\" "
      "font-family=\"{3}\" fill=\"{4}\">\n<desc>{5}</desc>\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"#ffffff\"/>\n{8}</svg>\n",
      width, height, language, kFontFamilies, hex(kBlack), xml_escaped(description), side(wide), side(high),
      canvas.take());
}

}  // namespace attnflow::internal
