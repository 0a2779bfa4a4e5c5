// Text for the page: cleaned, measured, shortened, broken into lines.
//
// Pango measures with hinting off and glyphs at fractional pixel positions, so one layout holds for SVG, PDF and PNG at
// any scale. Fonts come from the system, with fallbacks for every script.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/draw/canvas.h"

namespace attnflow::internal {

// In order of preference, for pango and for CSS.
inline constexpr const char* kFontFamilies = "Noto Sans, Noto Sans Arabic, Noto Sans Hebrew, DejaVu Sans, sans-serif";

// Converts any bytes to one line of valid UTF-8 and XML: white space becomes spaces, other control characters their
// pictures (U+2400...), and anything not UTF-8 or not allowed in XML U+FFFD.
std::string clean_text(std::string_view text);

// Whether the letter at text[at] is shaped together with the one before, so that they must be drawn together: Arabic
// and other joined scripts, combining marks, emoji sequences. Requires clean text and a letter's beginning.
bool shaped_together(std::string_view text, std::size_t at);

// Selects glyphs for Han characters: "ja" if there are kana, "ko" with hangul, "zh-cn" with Han alone, else "en". Never
// the machine's locale.
std::string language_of(std::string_view text);

// Bytes [begin, end) of a paragraph, once per line that they are on.
struct PlacedRange {
  std::size_t range = 0;  // index of the requested range
  std::size_t line = 0;
  std::size_t begin = 0;  // bytes of the paragraph on that line
  std::size_t end = 0;
  double x = 0.0;
  double width = 0.0;
};

struct ParagraphRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool italic = false;
};

struct Paragraph {
  std::size_t lines = 0;
  std::vector<PlacedRange> placed;  // by range, then by line
};

// Not thread-safe; each thread makes its own.
class TextMeasurer {
 public:
  explicit TextMeasurer(const std::string& language);
  ~TextMeasurer();
  TextMeasurer(const TextMeasurer&) = delete;
  TextMeasurer& operator=(const TextMeasurer&) = delete;

  const std::string& language() const { return language_; }

  double width(const std::string& text, const TextStyle& style) const;

  // Decided by the first letter that has a direction.
  bool right_to_left(const std::string& text) const;

  // Returns the text if at most `max_width` wide, else its longest fitting beginning in whole characters, followed by
  // "…"; "…" alone if nothing fits.
  std::string shortened(const std::string& text, const TextStyle& style, double max_width) const;

  // Lines of at most `width`, broken between words if possible.
  std::vector<std::string> wrapped(const std::string& text, const TextStyle& style, double width) const;

  // Lays out lines of at most `width`, with full bidirectional ordering, and locates each range. Right-to-left
  // paragraphs are right-aligned.
  Paragraph paragraph(const std::string& text, const std::vector<ParagraphRange>& ranges, const TextStyle& style,
                      double width, bool right_to_left) const;

 private:
  struct State;
  std::string language_;
  std::unique_ptr<State> state_;
};

}  // namespace attnflow::internal
