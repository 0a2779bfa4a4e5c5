// The running text, every token on a ground of its value, a strip for each method.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attnflow/draw/parts.h"
#include "attnflow/draw/views.h"

namespace attnflow::internal {
namespace {

constexpr double kLongestToken = 320.0;
// Wider than a normal space, so that the grounds of two words stand apart.
constexpr const char* kSpace = "\u2002";
// Around tokens that are not part of the text: they keep their place in right-to-left text and do not change its order.
constexpr const char* kIsolate = "\u2068";
constexpr const char* kEndIsolate = "\u2069";

// A stretch of the paragraph with one ground. Several tokens where they stand for the same characters (the bytes of an
// emoji); none for characters that no token covers.
struct StripCell {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<std::size_t> tokens;
};

struct StripText {
  std::string text;
  std::vector<StripCell> cells;
  bool right_to_left = false;
};

class StripBuilder {
 public:
  StripBuilder(const FigureData& data, const TextStyle& style) : data_(data), style_(style) {}

  StripText build() {
    for (std::size_t i = 0; i < data_.tokens; ++i) add_token(i);
    result_.right_to_left = data_.measure.right_to_left(clean_text(data_.report.input.text));
    return std::move(result_);
  }

 private:
  void add_token(std::size_t i) {
    const ReportToken& token = data_.report.input.tokens[i];
    const std::size_t segment = token.segment == 0 ? 0 : 1;
    const std::string& source = segment == 0 ? data_.report.input.text : data_.report.input.text_pair;
    if (!token.begin || !token.end || *token.begin > *token.end || *token.end > source.size() ||
        (*token.begin == *token.end && data_.labels[i].empty())) {
      add_space();
      result_.text += kIsolate;
      add_cell(data_.labels[i], {i});
      result_.text += kEndIsolate;
      add_space();
      return;
    }
    std::size_t& read = read_[segment];
    if (*token.end <= read && *token.begin < *token.end && !result_.cells.empty()) {
      result_.cells.back().tokens.push_back(i);
      return;
    }
    const std::size_t begin = std::max(*token.begin, read);
    add_gap(clean_text(source.substr(read, begin - read)));
    read = std::max(begin, *token.end);
    std::string body = clean_text(source.substr(begin, read - begin));
    if (!body.empty() && body.front() == ' ') add_space();
    const std::size_t first = body.find_first_not_of(' ');
    const bool space_behind = first != std::string::npos && body.back() == ' ';
    body = first == std::string::npos ? data_.labels[i] : body.substr(first, body.find_last_not_of(' ') - first + 1);
    add_cell(body, {i});
    if (space_behind) add_space();
  }

  void add_space() {
    if (!result_.text.empty() && !result_.text.ends_with(kSpace)) result_.text += kSpace;
  }

  void add_gap(const std::string& gap) {
    const std::size_t first = gap.find_first_not_of(' ');
    if (gap.empty()) return;
    if (first != 0) add_space();
    if (first == std::string::npos) return;
    add_cell(gap.substr(first, gap.find_last_not_of(' ') - first + 1), {});
    if (gap.back() == ' ') add_space();
  }

  void add_cell(const std::string& text, std::vector<std::size_t> tokens) {
    const std::size_t begin = result_.text.size();
    result_.text += data_.measure.shortened(text, style_, kLongestToken);
    result_.cells.push_back({begin, result_.text.size(), std::move(tokens)});
  }

  const FigureData& data_;
  const TextStyle& style_;
  StripText result_;
  std::array<std::size_t, 2> read_ = {0, 0};  // how far each text is laid out
};

// How far each placed piece may widen its ground: to the left and to the right of its letters.
std::vector<std::array<double, 2>> grounds(const std::vector<PlacedRange>& pieces) {
  std::vector<std::size_t> order(pieces.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(pieces[a].line, pieces[a].x, a) < std::tuple(pieces[b].line, pieces[b].x, b);
  });
  constexpr double kWiden = 2.0;
  std::vector<std::array<double, 2>> widened(pieces.size(), {kWiden, kWiden});
  for (std::size_t k = 1; k < order.size(); ++k) {
    const PlacedRange& left = pieces[order[k - 1]];
    const PlacedRange& right = pieces[order[k]];
    if (left.line != right.line) continue;
    const double room = (right.x - left.x - left.width - 1.0) / 2.0;
    widened[order[k - 1]][1] = widened[order[k]][0] = std::clamp(room, -0.5, kWiden);
  }
  return widened;
}

// The colour of letters over a ground of several colours.
Color readable_on_all(const std::vector<Color>& grounds) {
  std::size_t white = 0;
  for (Color ground : grounds) white += readable_on(ground) == kWhite ? 1 : 0;
  return 2 * white > grounds.size() ? kWhite : kBlack;
}

struct StripLayout {
  StripText source;
  Paragraph paragraph;
  TextStyle style;
  double width = 0.0;  // of the widest line, or of the widest head
};

struct StripValues {
  std::string method;
  std::vector<double> values;  // of each token
  PanelHead head;
  std::string note;
};

StripValues strip_values(const FigureData& data, const std::string& method) {
  const std::size_t row = data.row_of_output_token(method);
  StripValues strip{.method = method, .values = std::vector<double>(data.tokens), .head = {}, .note = ""};
  ScaleBuilder builder;
  for (std::size_t j = 0; j < data.tokens; ++j) {
    strip.values[j] = data.value(method, data.layer_position, row, j);
    builder.add(strip.values[j], data.aside(data.output_token, j));
  }
  strip.head = {.title = fmt::format("{}, layer {}", method, data.layer), .scale = builder.scale()};
  if (method == "flow") {
    strip.note =
        degeneracy_note(data, {.first_layer = data.layer_position, .end_layer = data.layer_position + 1, .row = row});
  }
  return strip;
}

Scene draw_strip(const FigureData& data, const StripLayout& layout, const StripValues& strip) {
  const std::vector<double>& values = strip.values;
  const ColorScale& scale = *strip.head.scale;
  const std::vector<PlacedRange>& pieces = layout.paragraph.placed;
  const std::vector<StripCell>& cells = layout.source.cells;
  const double size = layout.style.size;
  const double line_pitch = 1.95 * size;
  Scene scene(data.measure);
  scene.width = layout.width;
  scene.begin_group({.id = "strip-" + strip.method});
  draw_panel_head(strip.head, 0.0, scene.width, &scene);
  const double first_baseline = kPanelHeadHeight + 1.25 * size;

  const std::vector<std::array<double, 2>> widened = grounds(pieces);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const PlacedRange& piece = pieces[i];
    const StripCell& cell = cells[piece.range];
    const double baseline = first_baseline + static_cast<double>(piece.line) * line_pitch;
    const Rect ground{piece.x - widened[i][0], baseline - 1.2 * size,
                      std::max(1.0, piece.width + widened[i][0] + widened[i][1]), 1.65 * size};
    const double band = ground.width / static_cast<double>(std::max<std::size_t>(1, cell.tokens.size()));
    for (std::size_t t = 0; t < cell.tokens.size(); ++t) {
      const std::size_t token = cell.tokens[t];
      const Rect part{ground.x + static_cast<double>(t) * band, ground.y, band, ground.height};
      scene.rect(part, filled(scale.color(values[token])),
                 fmt::format("{} (position {}): {}", data.labels[token], token,
                             std::isfinite(values[token]) ? short_number(values[token]) : "no value"));
      if (scale.is_above(values[token])) draw_above_mark(part, &scene);
      if (token == data.output_token) {
        // Outside of the ground, so that the letters of a word in pieces stay whole.
        constexpr double kBar = 1.6;
        scene.rect({part.x, part.y - kBar - 0.6, part.width, kBar}, filled(kBlack));
        scene.rect({part.x, part.y + part.height + 0.6, part.width, kBar}, filled(kBlack));
      }
    }
  }

  // Letters that are shaped together are drawn together, each part in the colour that its ground asks for.
  for (std::size_t i = 0; i < pieces.size();) {
    const PlacedRange& first = pieces[i];
    const std::string& text = layout.source.text;
    std::size_t end = i;
    double left = first.x;
    double right = first.x;
    std::vector<TextSpan> spans;
    do {
      const PlacedRange& piece = pieces[end];
      std::vector<Color> colors;
      for (std::size_t token : cells[piece.range].tokens) colors.push_back(scale.color(values[token]));
      spans.push_back(
          {piece.begin - first.begin, piece.end - first.begin, colors.empty() ? kGrey : readable_on_all(colors)});
      left = std::min(left, piece.x);
      right = std::max(right, piece.x + piece.width);
      ++end;
    } while (end < pieces.size() && pieces[end].line == first.line && pieces[end].begin == pieces[end - 1].end &&
             shaped_together(std::string_view(text).substr(0, pieces[end].begin),
                             std::string_view(text).substr(pieces[end].begin)));
    const StripCell& cell = cells[first.range];
    TextStyle style = layout.style;
    style.italic = !cell.tokens.empty() && data.special(cell.tokens.front());
    Text word{.at = {(left + right) / 2.0, first_baseline + static_cast<double>(first.line) * line_pitch},
              .text = text.substr(first.begin, pieces[end - 1].end - first.begin),
              .style = style,
              .anchor = Anchor::kMiddle};
    if (spans.size() == 1) {
      word.style.color = spans.front().color;
    } else {
      word.spans = std::move(spans);
    }
    scene.text(word);
    i = end;
  }

  scene.height = kPanelHeadHeight + static_cast<double>(layout.paragraph.lines) * line_pitch;
  scene.height += draw_wrapped(strip.note, {.size = kSmallSize, .color = kGrey, .italic = true}, {0.0, scene.height},
                               data.width, &scene);
  scene.end_group();
  return scene;
}

}  // namespace

View strip_view(const FigureData& data) {
  StripLayout layout;
  layout.style = {.size = data.tokens > 128 ? 11.0 : 13.0};
  layout.source = StripBuilder(data, layout.style).build();
  std::vector<ParagraphRange> ranges;
  for (const StripCell& cell : layout.source.cells) {
    ranges.push_back({cell.begin, cell.end, !cell.tokens.empty() && data.special(cell.tokens.front())});
  }
  constexpr double kMargin = 3.0;
  layout.paragraph = data.measure.paragraph(layout.source.text, ranges, layout.style, data.width - 2.0 * kMargin,
                                            layout.source.right_to_left);
  // Right-to-left paragraphs hang from the right edge of the page: move them to the left, where the panels start.
  std::vector<PlacedRange>& pieces = layout.paragraph.placed;
  double least = data.width;
  for (const PlacedRange& piece : pieces) least = std::min(least, piece.x);
  for (PlacedRange& piece : pieces) {
    piece.x += kMargin - least;
    layout.width = std::max(layout.width, piece.x + piece.width + kMargin);
  }

  std::vector<StripValues> strips;
  for (const std::string& method : data.methods_with_output_token()) {
    strips.push_back(strip_values(data, method));
    layout.width = std::max(layout.width, panel_head_width(data.measure, strips.back().head));
  }
  layout.width = std::min(layout.width, data.width);
  std::vector<Scene> scenes;
  bool above = false;
  bool without_value = false;
  for (const StripValues& strip : strips) {
    scenes.push_back(draw_strip(data, layout, strip));
    above = above || strip.head.scale->above;
    for (double value : strip.values) without_value = without_value || !std::isfinite(value);
  }
  View view = captioned(data, "strip", stacked(scenes, 10.0, data.measure),
                        fmt::format("What {} draws on; bars above and below mark it.", data.output_name()));
  view.above = above;
  view.without_value = without_value;
  return view;
}

}  // namespace attnflow::internal
