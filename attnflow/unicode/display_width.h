// How much room text takes in a terminal, and how to make it fit.
//
// A terminal is a grid of cells. Most characters take one; East Asian wide characters and emoji take two; combining
// marks none, but those that stand beside their letter (spacing marks of Indic scripts) one. Text is measured by
// graphemes (unicode.h): the code points of one are added up, except that an emoji sequence (joined by U+200D, coloured
// by a skin tone, or asked for by U+FE0F) is one picture of two cells, and a Hangul syllable written in parts is as
// wide as its first. Terminals that draw the members of an emoji sequence one by one take more room than is measured
// here.
//
// References:
//   East Asian Width, UAX #11: https://www.unicode.org/reports/tr11/
//
// Example:
//
//     assert(display_width("key") == 3 && display_width("鍵") == 2);
//     assert(fit_to_cells("attention", 5, "…") == "atte…" && fit_to_cells("key", 5, "…") == "key  ");
//     assert(clean_line("a\nb") == "a␊b");
#ifndef ATTNFLOW_UNICODE_DISPLAY_WIDTH_H_
#define ATTNFLOW_UNICODE_DISPLAY_WIDTH_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace attnflow {

// Cells that one line of clean text takes. A control character counts as the one that clean_line shows in its place.
std::size_t display_width(std::string_view text);

// Any bytes as one line that is safe to print: control characters become their pictures (U+2400...), characters that
// reorder text invisibly (bidirectional controls) and bytes that are not UTF-8 become U+FFFD. Nothing that a token
// holds can move the cursor, colour the terminal or turn the line around.
std::string clean_line(std::string_view text);

// Clean text cut to at most `cells`, `ellipsis` in place of what was cut. Graphemes are not split.
std::string shorten(std::string_view text, std::size_t cells, std::string_view ellipsis);

// True when the text holds a character of a script that runs from right to left.
bool runs_right_to_left(std::string_view text);

// The text; isolated (U+2068 ... U+2069) if it runs from right to left, so that the numbers beside it stay where they
// are.
std::string isolated(std::string_view text);

// Clean text that takes exactly `cells`: shortened, isolated, then filled with spaces on the right.
std::string fit_to_cells(std::string_view text, std::size_t cells, std::string_view ellipsis);

}  // namespace attnflow

#endif  // ATTNFLOW_UNICODE_DISPLAY_WIDTH_H_
