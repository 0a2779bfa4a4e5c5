// How much room text takes in a terminal, and how to make it fit.
//
// A terminal is a grid of cells. Most characters take one; East Asian wide characters and emoji take two; combining
// marks none. Text is measured by clusters: a base character with what belongs to it, an emoji sequence joined by
// U+200D, a pair of regional indicators (flag). Terminals that draw the members of an emoji sequence one by one take
// more room than is measured here.
#ifndef ATTNFLOW_REPORT_DISPLAY_WIDTH_H_
#define ATTNFLOW_REPORT_DISPLAY_WIDTH_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace attnflow {

// Cells that one line of clean text takes.
std::size_t display_width(std::string_view text);

// Any bytes as one line that is safe to print: control characters become their pictures (U+2400...), characters that
// reorder text invisibly (bidirectional controls) and bytes that are not UTF-8 become U+FFFD. Nothing that a token
// holds can move the cursor, colour the terminal or turn the line around.
std::string clean_line(std::string_view text);

// Clean text cut to at most `cells`, `ellipsis` in place of what was cut. Clusters are not split.
std::string shorten(std::string_view text, std::size_t cells, std::string_view ellipsis);

// True when the text holds a character of a script that runs from right to left.
bool runs_right_to_left(std::string_view text);

// Clean text that takes exactly `cells`: shortened, then filled with spaces on the right. Text that runs from right to
// left is isolated (U+2068 ... U+2069), so that the numbers beside it stay where they are.
std::string fit_to_cells(std::string_view text, std::size_t cells, std::string_view ellipsis);

}  // namespace attnflow

#endif  // ATTNFLOW_REPORT_DISPLAY_WIDTH_H_
