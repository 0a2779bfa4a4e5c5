// Prose broken into lines. Not part of the library's interface.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow::internal {

// How lines after the first begin, and what stands for the end of a word that fits on no line.
struct WrapStyle {
  std::string_view indent = "  ";
  std::string_view ellipsis = "...";
};

// Clean text (clean_line) broken at spaces into lines of at most `width` cells. Words that run from right to left are
// isolated, so that the sentence around them keeps its order; a word that fits on no line is shortened.
std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width, const WrapStyle& style = {});

// A line of a table, whose last cells may be empty.
inline std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The lines without indentation, each with its line end.
std::string paragraph(std::string_view text, std::size_t width);

}  // namespace attnflow::internal
