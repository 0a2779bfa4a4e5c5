// Prose broken into lines; internal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow::internal {

// The indentation after the first line, and the ending of a word that fits on no line.
struct WrapStyle {
  std::string_view indent = "  ";
  std::string_view ellipsis = "...";
};

// Clean text (clean_line) broken at spaces into lines of at most `width` cells. Right-to-left words are isolated, so
// the sentence keeps its order; a word that fits on no line is shortened.
std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width, const WrapStyle& style = {});

// For a table's line, whose last cells may be empty.
inline std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The same text with the quotes, minus signs and other marks that ASCII lacks spelled in it.
std::string with_ascii_marks(std::string text);

// Without indentation, each line with its end.
std::string paragraph(std::string_view text, std::size_t width);

}  // namespace attnflow::internal
