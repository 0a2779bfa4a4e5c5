#include "attnflow/unicode/display_width.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdint>

#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

constexpr char32_t kEmojiPresentation = 0xFE0F;

bool is_skin_tone(char32_t c) { return c >= 0x1F3FB && c <= 0x1F3FF; }

bool is_hangul_part(int boundary_class) {
  return boundary_class == UTF8PROC_BOUNDCLASS_L || boundary_class == UTF8PROC_BOUNDCLASS_V ||
         boundary_class == UTF8PROC_BOUNDCLASS_T;
}

// The cells of a single code point, as given by utf8proc with three exceptions.
std::size_t width_of(char32_t c) {
  if (c < 0x300) return 1;  // control characters too: see the header
  const utf8proc_property_t& property = *utf8proc_get_property(static_cast<std::int32_t>(c));
  // glibc, and terminals that use its tables, give a spacing mark one cell; utf8proc gives it none.
  if (property.category == UTF8PROC_CATEGORY_MC && property.charwidth == 0) return 1;
  // Unassigned code points reserved for ideographs (UAX #11, section 6.1) and pictographs.
  const bool ideograph = c >= 0x20000 && c < 0x40000;
  const bool pictograph = property.boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
  if (property.category == UTF8PROC_CATEGORY_CN && (ideograph || pictograph)) return 2;
  return property.charwidth;
}

std::size_t grapheme_width(std::string_view grapheme) {
  std::size_t at = 0;
  const char32_t first = next_or_replacement(grapheme, at);
  std::size_t width = width_of(first);
  if (at == grapheme.size()) return width;
  const auto boundary_class = [](char32_t c) {
    return static_cast<int>(utf8proc_get_property(static_cast<std::int32_t>(c))->boundclass);
  };
  const bool is_pictograph = boundary_class(first) == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
  bool is_picture = false;
  while (at < grapheme.size()) {
    const char32_t c = next_or_replacement(grapheme, at);
    const int kind = boundary_class(c);
    // After the first code point, only U+200D brings another pictograph into a grapheme.
    if (c == kEmojiPresentation || kind == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC ||
        (is_pictograph && is_skin_tone(c))) {
      is_picture = true;
    } else if (!is_hangul_part(kind)) {
      width += width_of(c);
    }
  }
  return is_picture ? std::max<std::size_t>(width, 2) : width;
}

bool is_bidi_control(char32_t c) {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

bool is_line_break(char32_t c) { return c == 0x2028 || c == 0x2029; }

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = grapheme_end(text, at);
    width += grapheme_width(text.substr(at, end - at));
    at = end;
  }
  return width;
}

std::string clean_line(std::string_view text) {
  return map_code_points(text, [](char32_t c) {
    return is_bidi_control(c) || is_line_break(c) ? kReplacementCharacter : control_picture(c);
  });
}

std::string shorten(std::string_view text, std::size_t cells, std::string_view ellipsis) {
  if (display_width(text) <= cells) return std::string(text);
  const std::size_t mark = display_width(ellipsis);
  if (mark > cells) return std::string(ellipsis.substr(0, cells));  // only "..." is longer than one cell
  std::size_t used = 0;
  std::size_t kept = 0;
  for (;;) {
    const std::size_t end = grapheme_end(text, kept);
    used += grapheme_width(text.substr(kept, end - kept));
    if (used + mark > cells) break;
    kept = end;
  }
  return std::string(text.substr(0, kept)) + std::string(ellipsis);
}

bool runs_right_to_left(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (is_right_to_left(next_or_replacement(text, at))) return true;
  }
  return false;
}

std::string isolated(std::string_view text) {
  return runs_right_to_left(text) ? fmt::format("\u2068{}\u2069", text) : std::string(text);
}

std::string fit_to_cells(std::string_view text, std::size_t cells, std::string_view ellipsis) {
  const std::string shown = shorten(text, cells, ellipsis);
  return isolated(shown) + std::string(cells - display_width(shown), ' ');
}

}  // namespace attnflow
