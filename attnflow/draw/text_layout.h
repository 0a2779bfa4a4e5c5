// Text as it will appear on the page: cleaned, measured, shortened, broken into lines.
//
// All measuring is done by pango, with hinting off and glyphs at fractional pixel positions, so that the same layout
// holds for SVG, PDF and PNG at any scale. Fonts come from the system; pango finds a fallback for every script.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/draw/canvas.h"

namespace attnflow::internal {

// The font families, in order of preference, for pango and for CSS.
inline constexpr const char* kFontFamilies = "Noto Sans, Noto Sans Arabic, Noto Sans Hebrew, DejaVu Sans, sans-serif";

// Converts any bytes to one line of text that is valid UTF-8 and valid XML: white space other than a space becomes a
// space, other control characters become their pictures (U+2400...), and what is not UTF-8 or not allowed in XML
// becomes U+FFFD.
std::string clean_text(std::string_view text);

// Whether the letter at text[at] is shaped together with the one before it, so that drawing them separately would look
// wrong: Arabic and other joined scripts, combining marks, emoji sequences. Requires clean text, and `at` at the
// beginning of a letter.
bool shaped_together(std::string_view text, std::size_t at);

// The language that decides which glyphs are used for Han characters: "ja" if there are kana, "ko" with hangul, "zh-cn"
// with Han alone, else "en". Never the machine's locale.
std::string language_of(std::string_view text);

// The position of the bytes [begin, end) of a paragraph. A range broken over several lines is placed once per line.
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

  // Whether the first letter that has a direction is written from right to left.
  bool right_to_left(const std::string& text) const;

  // Returns the text itself if it is at most `max_width` wide, else its longest beginning (in whole characters as the
  // reader sees them) that fits followed by "…"; "…" alone if nothing fits.
  std::string shortened(const std::string& text, const TextStyle& style, double max_width) const;

  // Breaks the text into lines of at most `width`, between words if possible.
  std::vector<std::string> wrapped(const std::string& text, const TextStyle& style, double width) const;

  // Lays out the text as a paragraph of lines of at most `width`, with full bidirectional ordering, and locates each
  // range. Right-to-left paragraphs are right-aligned.
  Paragraph paragraph(const std::string& text, const std::vector<ParagraphRange>& ranges, const TextStyle& style,
                      double width, bool right_to_left) const;

 private:
  struct State;
  std::string language_;
  std::unique_ptr<State> state_;
};

}  // namespace attnflow::internal
