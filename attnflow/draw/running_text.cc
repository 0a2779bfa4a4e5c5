#include "attnflow/draw/running_text.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "attnflow/draw/parts.h"
#include "attnflow/report/color_scale.h"

namespace attnflow::internal {
namespace {

constexpr double kLongestToken = 320.0;
constexpr double kTextMargin = 3.0;
// Line height and first baseline, in text sizes.
constexpr double kTextLinePitch = 1.95;
constexpr double kFirstBaseline = 1.25;
// Wider than a normal space, to separate the backgrounds of words.
constexpr const char* kSpace = "\u2002";
// Around tokens outside the text: they keep their place in right-to-left text without affecting its order.
constexpr const char* kIsolate = "\u2068";
constexpr const char* kEndIsolate = "\u2069";

class Builder {
 public:
  Builder(const RunningSource& source, const TextMeasurer& measure, RunningText* result)
      : source_(source), measure_(measure), result_(*result), read_(source.texts.size(), 0) {}

  void build() {
    for (std::size_t i = 0; i < source_.tokens.size(); ++i) add_token(i);
  }

 private:
  std::string clean(const std::string& text) const {
    return clean_text(source_.breaks == RunningSource::Breaks::kMarks ? marked_breaks(text) : text);
  }

  void add_token(std::size_t i) {
    const RunningToken& token = source_.tokens[i];
    const std::string& source = source_.texts[token.text];
    if (!token.begin || !token.end || *token.begin > *token.end || *token.end > source.size() ||
        (*token.begin == *token.end && token.label.empty())) {
      add_space();
      result_.text += kIsolate;
      add_cell(token.label, {i});
      result_.text += kEndIsolate;
      add_space();
      return;
    }
    std::size_t& read = read_[token.text];
    if (*token.end <= read && *token.begin < *token.end && !result_.cells.empty()) {
      result_.cells.back().tokens.push_back(i);
      return;
    }
    const std::size_t begin = std::max(*token.begin, read);
    add_gap(clean(source.substr(read, begin - read)));
    read = std::max(begin, *token.end);
    std::string body = clean(source.substr(begin, read - begin));
    if (!body.empty() && body.front() == ' ') add_space();
    const std::size_t first = body.find_first_not_of(' ');
    const bool space_behind = first != std::string::npos && body.back() == ' ';
    body = first == std::string::npos ? token.label : body.substr(first, body.find_last_not_of(' ') - first + 1);
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
    result_.text += measure_.shortened(text, result_.style, kLongestToken);
    result_.cells.push_back({begin, result_.text.size(), std::move(tokens)});
  }

  const RunningSource& source_;
  const TextMeasurer& measure_;
  RunningText& result_;
  std::vector<std::size_t> read_;  // how far each text is laid out
};

// How far each placed piece's background may extend beyond its letters, left and right.
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

Color ink_of(const TokenLook& look) {
  if (look.ink) return *look.ink;
  return readable_on(look.ground.value_or(kWhite));
}

// Readable on several tokens' backgrounds; gray without tokens.
Color ink_of_all(const std::vector<std::size_t>& tokens, const std::vector<TokenLook>& looks) {
  if (tokens.empty()) return kGrey;
  if (tokens.size() == 1) return ink_of(looks[tokens.front()]);
  std::size_t white = 0;
  for (const std::size_t token : tokens) white += ink_of(looks[token]) == kWhite ? 1 : 0;
  return 2 * white > tokens.size() ? kWhite : kBlack;
}

void draw_dashes(Point from, double width, Color color, Scene* scene) {
  constexpr double kDash = 2.5;
  constexpr double kGap = 1.5;
  for (double at = 0.0; at < width; at += kDash + kGap) {
    scene->line({from.x + at, from.y}, {from.x + std::min(at + kDash, width), from.y}, stroked(color, 1.0));
  }
}

void draw_ground(const TokenLook& look, const Rect& part, Scene* scene) {
  if (look.ground) {
    scene->rect(part, filled(*look.ground), look.title);
    if (look.hatched) draw_hatching(part, scene);
    if (look.above) draw_above_mark(part, scene);
  } else if (!look.title.empty()) {
    scene->rect(part, filled(kWhite), look.title);
  }
  if (look.selected) {
    // Outside, so that the letters of a word in pieces are not cut.
    constexpr double kBar = 1.6;
    scene->rect({part.x, part.y - kBar - 0.6, part.width, kBar}, filled(kBlack));
    scene->rect({part.x, part.y + part.height + 0.6, part.width, kBar}, filled(kBlack));
  }
}

}  // namespace

std::string marked_breaks(const std::string& text) {
  std::string marked;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      marked += "\u23CE";
    } else if (text[i] == '\t') {
      marked += "\u21E5";
    } else if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') {
      marked += text[i];
    }
  }
  return marked;
}

RunningText lay_out_running_text(const RunningSource& source, const TextStyle& style, double width,
                                 const TextMeasurer& measure) {
  RunningText result;
  result.style = style;
  for (const RunningToken& token : source.tokens) result.italic.push_back(token.italic);
  Builder(source, measure, &result).build();
  std::vector<ParagraphRange> ranges;
  for (const RunningCell& cell : result.cells) {
    ranges.push_back({cell.begin, cell.end, !cell.tokens.empty() && result.italic[cell.tokens.front()]});
  }
  const bool right_to_left = !source.texts.empty() && measure.right_to_left(clean_text(source.texts.front()));
  result.paragraph = measure.paragraph(result.text, ranges, style, width - 2.0 * kTextMargin, right_to_left);
  // Move right-aligned right-to-left paragraphs to the left, where the panels start.
  std::vector<PlacedRange>& pieces = result.paragraph.placed;
  double least = width;
  for (const PlacedRange& piece : pieces) least = std::min(least, piece.x);
  for (PlacedRange& piece : pieces) {
    piece.x += kTextMargin - least;
    result.width = std::max(result.width, piece.x + piece.width + kTextMargin);
  }
  result.height = static_cast<double>(result.paragraph.lines) * kTextLinePitch * style.size;
  return result;
}

void draw_running_text(const RunningText& text, const std::vector<TokenLook>& looks, double top, Scene* scene) {
  const std::vector<PlacedRange>& pieces = text.paragraph.placed;
  const std::vector<RunningCell>& cells = text.cells;
  const double size = text.style.size;
  const double line_pitch = kTextLinePitch * size;
  const double first_baseline = top + kFirstBaseline * size;

  const std::vector<std::array<double, 2>> widened = grounds(pieces);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const PlacedRange& piece = pieces[i];
    const std::vector<std::size_t>& tokens = cells[piece.range].tokens;
    const double baseline = first_baseline + static_cast<double>(piece.line) * line_pitch;
    const Rect ground{piece.x - widened[i][0], baseline - 1.2 * size,
                      std::max(1.0, piece.width + widened[i][0] + widened[i][1]), 1.65 * size};
    const double band = ground.width / static_cast<double>(std::max<std::size_t>(1, tokens.size()));
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      draw_ground(looks[tokens[t]], {ground.x + static_cast<double>(t) * band, ground.y, band, ground.height}, scene);
    }
  }

  // Letters shaped together are drawn together, each part in its background's color.
  for (std::size_t i = 0; i < pieces.size();) {
    const PlacedRange& first = pieces[i];
    std::size_t end = i;
    double left = first.x;
    double right = first.x;
    std::vector<TextSpan> spans;
    do {
      const PlacedRange& piece = pieces[end];
      spans.push_back(
          {piece.begin - first.begin, piece.end - first.begin, ink_of_all(cells[piece.range].tokens, looks)});
      left = std::min(left, piece.x);
      right = std::max(right, piece.x + piece.width);
      ++end;
    } while (end < pieces.size() && pieces[end].line == first.line && pieces[end].begin == pieces[end - 1].end &&
             shaped_together(text.text, pieces[end].begin));
    const std::vector<std::size_t>& tokens = cells[first.range].tokens;
    TextStyle style = text.style;
    style.italic = !tokens.empty() && text.italic[tokens.front()];
    Text word{.at = {(left + right) / 2.0, first_baseline + static_cast<double>(first.line) * line_pitch},
              .text = text.text.substr(first.begin, pieces[end - 1].end - first.begin),
              .style = style,
              .anchor = Anchor::kMiddle};
    if (spans.size() == 1) {
      word.style.color = spans.front().color;
    } else {
      word.spans = std::move(spans);
    }
    scene->text(word);
    for (; i < end; ++i) {
      const std::vector<std::size_t>& under = cells[pieces[i].range].tokens;
      if (std::any_of(under.begin(), under.end(), [&](std::size_t token) { return looks[token].dashed; })) {
        draw_dashes({pieces[i].x, word.at.y + 0.24 * size}, pieces[i].width, ink_of(looks[under.front()]), scene);
      }
    }
  }
}

}  // namespace attnflow::internal
