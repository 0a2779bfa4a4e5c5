#include "attnflow/draw/text_layout.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "attnflow/draw/pango_text.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
namespace {

// Longer texts fit on no line, so they are truncated before measuring.
constexpr std::size_t kLongestLine = 4096;

struct FreeFont {
  void operator()(PangoFontDescription* font) const { pango_font_description_free(font); }
};
struct UnrefAttributes {
  void operator()(PangoAttrList* list) const { pango_attr_list_unref(list); }
};
using AttributesPtr = std::unique_ptr<PangoAttrList, UnrefAttributes>;

// Words in these scripts may be drawn in pieces; all others are kept together.
constexpr std::array kSeparateLetters = {
    G_UNICODE_SCRIPT_COMMON, G_UNICODE_SCRIPT_INHERITED, G_UNICODE_SCRIPT_UNKNOWN,  G_UNICODE_SCRIPT_LATIN,
    G_UNICODE_SCRIPT_GREEK,  G_UNICODE_SCRIPT_CYRILLIC,  G_UNICODE_SCRIPT_ARMENIAN, G_UNICODE_SCRIPT_GEORGIAN,
    G_UNICODE_SCRIPT_HEBREW, G_UNICODE_SCRIPT_HAN,       G_UNICODE_SCRIPT_HIRAGANA, G_UNICODE_SCRIPT_KATAKANA,
    G_UNICODE_SCRIPT_HANGUL, G_UNICODE_SCRIPT_BOPOMOFO};

void set_font(PangoLayout* layout, const TextStyle& style) {
  std::unique_ptr<PangoFontDescription, FreeFont> font(pango_font_description_new());
  pango_font_description_set_family_static(font.get(), kFontFamilies);
  pango_font_description_set_absolute_size(font.get(), style.size * PANGO_SCALE);
  pango_font_description_set_weight(font.get(), style.bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
  pango_font_description_set_style(font.get(), style.italic ? PANGO_STYLE_ITALIC : PANGO_STYLE_NORMAL);
  pango_layout_set_font_description(layout, font.get());
}

void insert(PangoAttrList* list, PangoAttribute* attribute, std::size_t begin, std::size_t end) {
  attribute->start_index = static_cast<guint>(begin);
  attribute->end_index = static_cast<guint>(end);
  pango_attr_list_insert(list, attribute);
}

double line_width(PangoLayout* layout) {
  PangoRectangle logical;
  pango_layout_line_get_extents(pango_layout_get_line_readonly(layout, 0), nullptr, &logical);
  return static_cast<double>(logical.width) / PANGO_SCALE;
}

}  // namespace

std::string clean_text(std::string_view text) {
  return map_code_points(text, [](char32_t c) {
    if (c == '\t' || c == '\n' || c == '\r' || c == 0x2028 || c == 0x2029) return U' ';
    return (c & 0xFFFE) == 0xFFFE ? kReplacementCharacter : control_picture(c);
  });
}

bool shaped_together(std::string_view text, std::size_t at) {
  if (at == 0 || at >= text.size()) return false;
  if (!is_grapheme_boundary(text, at)) return true;
  std::size_t place = code_point_begin(text, at - 1);
  const char32_t before = next_or_replacement(text, place);
  const char32_t after = next_or_replacement(text, place);
  constexpr char32_t kJoiner = 0x200D;
  if (before == kJoiner) return true;
  const GUnicodeScript script = g_unichar_get_script(after);
  const bool separate = std::find(kSeparateLetters.begin(), kSeparateLetters.end(), script) != kSeparateLetters.end();
  return !separate && script == g_unichar_get_script(before) && g_unichar_isalpha(before) && g_unichar_isalpha(after);
}

std::string language_of(std::string_view text) {
  bool han = false;
  bool hangul = false;
  for (std::size_t position = 0; position < text.size();) {
    switch (g_unichar_get_script(next_or_replacement(text, position))) {
      case G_UNICODE_SCRIPT_HIRAGANA:
      case G_UNICODE_SCRIPT_KATAKANA:
        return "ja";
      case G_UNICODE_SCRIPT_HANGUL:
        hangul = true;
        break;
      case G_UNICODE_SCRIPT_HAN:
        han = true;
        break;
      default:
        break;
    }
  }
  return hangul ? "ko" : han ? "zh-cn" : "en";
}

PangoContextPtr make_pango_context(const std::string& language) {
  PangoContextPtr context(pango_font_map_create_context(pango_cairo_font_map_get_default()));
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  pango_cairo_context_set_font_options(context.get(), options);
  cairo_font_options_destroy(options);
  pango_context_set_round_glyph_positions(context.get(), FALSE);
  pango_context_set_language(context.get(), pango_language_from_string(language.c_str()));
  pango_context_set_base_dir(context.get(), PANGO_DIRECTION_LTR);
  return context;
}

void set_line(PangoLayout* layout, const std::string& text, const TextStyle& style,
              const std::vector<TextSpan>& spans) {
  pango_layout_set_single_paragraph_mode(layout, TRUE);
  pango_layout_set_text(layout, text.data(), static_cast<int>(text.size()));
  set_font(layout, style);
  AttributesPtr attributes(pango_attr_list_new());
  for (const TextSpan& span : spans) {
    const auto channel = [](std::uint8_t value) { return static_cast<guint16>(value * 257); };
    insert(attributes.get(),
           pango_attr_foreground_new(channel(span.color.red), channel(span.color.green), channel(span.color.blue)),
           span.begin, span.end);
  }
  pango_layout_set_attributes(layout, attributes.get());
}

struct TextMeasurer::State {
  PangoContextPtr context;
  PangoLayoutPtr line;
};

TextMeasurer::TextMeasurer(const std::string& language) : language_(language), state_(std::make_unique<State>()) {
  state_->context = make_pango_context(language);
  state_->line.reset(pango_layout_new(state_->context.get()));
}

TextMeasurer::~TextMeasurer() = default;

double TextMeasurer::width(const std::string& text, const TextStyle& style) const {
  set_line(state_->line.get(), text, style, {});
  return line_width(state_->line.get());
}

bool TextMeasurer::right_to_left(const std::string& text) const {
  set_line(state_->line.get(), text, {}, {});
  return pango_layout_get_direction(state_->line.get(), 0) == PANGO_DIRECTION_RTL;
}

std::string TextMeasurer::shortened(const std::string& text, const TextStyle& style, double max_width) const {
  std::string beginning = text;
  if (beginning.size() > kLongestLine) {
    beginning.resize(code_point_begin(beginning, kLongestLine));
  } else if (width(text, style) <= max_width) {
    return text;
  }

  std::vector<std::size_t> cuts;
  for (std::size_t at = 0; at < beginning.size(); at = grapheme_end(beginning, at)) cuts.push_back(at);

  const std::string ellipsis = "\u2026";
  const auto fits = [&](std::size_t cut) { return width(beginning.substr(0, cut) + ellipsis, style) <= max_width; };
  const auto first_too_long = std::partition_point(cuts.begin(), cuts.end(), fits);
  const std::size_t cut = first_too_long == cuts.begin() ? 0 : *(first_too_long - 1);
  std::string kept = beginning.substr(0, cut);
  while (!kept.empty() && kept.back() == ' ') kept.pop_back();
  return kept + ellipsis;
}

std::vector<std::string> TextMeasurer::wrapped(const std::string& text, const TextStyle& style, double width) const {
  PangoLayoutPtr layout(pango_layout_new(state_->context.get()));
  set_line(layout.get(), text, style, {});
  pango_layout_set_wrap(layout.get(), PANGO_WRAP_WORD_CHAR);
  pango_layout_set_width(layout.get(), static_cast<int>(std::max(width, 1.0) * PANGO_SCALE));
  std::vector<std::string> lines;
  for (int i = 0; i < pango_layout_get_line_count(layout.get()); ++i) {
    const PangoLayoutLine* line = pango_layout_get_line_readonly(layout.get(), i);
    std::string part = text.substr(static_cast<std::size_t>(line->start_index), static_cast<std::size_t>(line->length));
    while (!part.empty() && part.back() == ' ') part.pop_back();
    lines.push_back(std::move(part));
  }
  return lines;
}

Paragraph TextMeasurer::paragraph(const std::string& text, const std::vector<ParagraphRange>& ranges,
                                  const TextStyle& style, double width, bool right_to_left) const {
  PangoContextPtr context = make_pango_context(language_);
  pango_context_set_base_dir(context.get(), right_to_left ? PANGO_DIRECTION_RTL : PANGO_DIRECTION_LTR);
  PangoLayoutPtr layout(pango_layout_new(context.get()));
  set_line(layout.get(), text, style, {});
  pango_layout_set_auto_dir(layout.get(), FALSE);
  pango_layout_set_alignment(layout.get(), right_to_left ? PANGO_ALIGN_RIGHT : PANGO_ALIGN_LEFT);
  pango_layout_set_wrap(layout.get(), PANGO_WRAP_WORD_CHAR);
  pango_layout_set_width(layout.get(), static_cast<int>(std::max(width, 1.0) * PANGO_SCALE));
  AttributesPtr attributes(pango_attr_list_new());
  for (const ParagraphRange& range : ranges) {
    if (range.italic) insert(attributes.get(), pango_attr_style_new(PANGO_STYLE_ITALIC), range.begin, range.end);
  }
  pango_layout_set_attributes(layout.get(), attributes.get());

  Paragraph result;
  result.lines = static_cast<std::size_t>(pango_layout_get_line_count(layout.get()));
  std::vector<std::pair<std::size_t, std::size_t>> line_bytes;
  for (std::size_t i = 0; i < result.lines; ++i) {
    const PangoLayoutLine* line = pango_layout_get_line_readonly(layout.get(), static_cast<int>(i));
    const auto begin = static_cast<std::size_t>(line->start_index);
    line_bytes.emplace_back(begin, begin + static_cast<std::size_t>(line->length));
  }

  for (std::size_t r = 0; r < ranges.size(); ++r) {
    for (std::size_t i = 0; i < result.lines; ++i) {
      PlacedRange placed;
      placed.range = r;
      placed.line = i;
      placed.begin = std::max(ranges[r].begin, line_bytes[i].first);
      placed.end = std::min(ranges[r].end, line_bytes[i].second);
      if (placed.begin >= placed.end) continue;
      int* extents = nullptr;
      int count = 0;
      pango_layout_line_get_x_ranges(pango_layout_get_line_readonly(layout.get(), static_cast<int>(i)),
                                     static_cast<int>(placed.begin), static_cast<int>(placed.end), &extents, &count);
      int left = count > 0 ? extents[0] : 0;
      int right = left;
      for (int e = 0; e < count; ++e) {
        left = std::min(left, extents[2 * e]);
        right = std::max(right, extents[2 * e + 1]);
      }
      g_free(extents);
      placed.x = static_cast<double>(left) / PANGO_SCALE;
      placed.width = static_cast<double>(right - left) / PANGO_SCALE;
      result.placed.push_back(placed);
    }
  }
  return result;
}

}  // namespace attnflow::internal
