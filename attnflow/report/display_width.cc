#include "attnflow/report/display_width.h"

#include <algorithm>
#include <span>
#include <utility>

#include "attnflow/files/utf8.h"
#include "attnflow/report/display_width_table.h"

namespace attnflow {
namespace {

using internal::CodePointRange;
using internal::kReplacementCharacter;

constexpr char32_t kZeroWidthJoiner = 0x200D;
constexpr char32_t kEmojiPresentation = 0xFE0F;

bool within(std::span<const CodePointRange> ranges, char32_t c) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                      [](char32_t value, const CodePointRange& range) { return value < range.first; });
  return after != ranges.begin() && c <= (after - 1)->last;
}

bool is_regional_indicator(char32_t c) { return c >= 0x1F1E6 && c <= 0x1F1FF; }
bool is_skin_tone(char32_t c) { return c >= 0x1F3FB && c <= 0x1F3FF; }

std::size_t width_of(char32_t c) {
  if (c < 0x300) return 1;
  if (within(internal::kZeroWidth, c)) return 0;
  return within(internal::kWide, c) ? 2 : 1;
}

char32_t code_point_at(std::string_view text, std::size_t& at) {
  return internal::next_code_point(text, at).value_or(kReplacementCharacter);
}

// The cells of the cluster that starts at text[at]; `at` moves behind it.
std::size_t next_cluster(std::string_view text, std::size_t& at) {
  const char32_t base = code_point_at(text, at);
  std::size_t width = width_of(base);
  bool flag = is_regional_indicator(base);
  while (at < text.size()) {
    std::size_t next = at;
    const char32_t c = code_point_at(text, next);
    if (c == kZeroWidthJoiner && width == 2 && next < text.size()) {
      (void)code_point_at(text, next);  // drawn as part of the same picture
    } else if (c == kEmojiPresentation) {
      width = std::max<std::size_t>(width, 2);
    } else if (is_skin_tone(c) && width == 2) {
      // Colours the emoji before it.
    } else if (std::exchange(flag, false) && is_regional_indicator(c)) {
      width = 2;
    } else if (width_of(c) != 0) {
      break;
    }
    at = next;
  }
  return width;
}

bool is_bidi_control(char32_t c) {
  return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) width += next_cluster(text, at);
  return width;
}

std::string clean_line(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char32_t c : internal::decode_utf8(text)) {
    if (c < 0x20) c += 0x2400;  // the pictures of the control characters
    if (c == 0x7F) c = 0x2421;  // ... and of DELETE
    if ((c >= 0x80 && c < 0xA0) || is_bidi_control(c)) c = kReplacementCharacter;
    if (c == 0x2028 || c == 0x2029) c = kReplacementCharacter;  // line and paragraph separator
    internal::append_utf8(out, c);
  }
  return out;
}

std::string shorten(std::string_view text, std::size_t cells, std::string_view ellipsis) {
  if (display_width(text) <= cells) return std::string(text);
  const std::size_t mark = display_width(ellipsis);
  if (mark > cells) return std::string(ellipsis.substr(0, cells));  // only "..." is longer than one cell
  std::size_t used = 0;
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    used += next_cluster(text, at);
    if (used + mark > cells) break;
    end = at;
  }
  return std::string(text.substr(0, end)) + std::string(ellipsis);
}

bool runs_right_to_left(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = code_point_at(text, at);
    // Hebrew to Arabic Extended-A, their presentation forms, and the historic scripts of the supplementary plane.
    if ((c >= 0x0590 && c <= 0x08FF) || (c >= 0xFB1D && c <= 0xFDFF) || (c >= 0xFE70 && c <= 0xFEFC) ||
        (c >= 0x10800 && c <= 0x10FFF) || (c >= 0x1E800 && c <= 0x1EFFF)) {
      return true;
    }
  }
  return false;
}

std::string fit_to_cells(std::string_view text, std::size_t cells, std::string_view ellipsis) {
  const std::string shown = shorten(text, cells, ellipsis);
  const std::string padding(cells - display_width(shown), ' ');
  if (runs_right_to_left(shown)) return "\u2068" + shown + "\u2069" + padding;
  return shown + padding;
}

}  // namespace attnflow
