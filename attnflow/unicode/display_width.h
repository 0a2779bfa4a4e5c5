// The width of text in a terminal, and ways to make it fit.
//
// A terminal is a grid of cells. Most characters take one; East Asian wide characters and emoji take two; combining
// marks take none, except spacing marks of Indic scripts, which take one. A grapheme (unicode.h) is as wide as the sum
// of its code points, except that an emoji sequence (joined by U+200D, colored by a skin tone, or requested by U+FE0F)
// is one picture of two cells, and a Hangul syllable written in parts is as wide as its first part. Terminals that draw
// the members of an emoji sequence separately take more room.
//
// References:
//   East Asian Width, UAX #11: https://www.unicode.org/reports/tr11/
//
// Example:
//
//     assert(display_width("key") == 3 && display_width("鍵") == 2);
//     assert(fit_to_cells("attention", 5, "…") == "atte…" && fit_to_cells("key", 5, "…") == "key  ");
//     assert(clean_line("a\nb") == "a␊b");
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attnflow {

// The cells of one line of clean text. A control character counts as the one that clean_line shows for it.
std::size_t display_width(std::string_view text);

// Converts any bytes to one line that is safe to print: control characters become their pictures (U+2400...), and
// bidirectional controls and invalid UTF-8 bytes become U+FFFD. No token can then move the cursor, color the terminal
// or reverse the line.
std::string clean_line(std::string_view text);

// Cuts clean text to at most `cells`, with `ellipsis` in place of the rest. Graphemes are not split.
std::string shorten(std::string_view text, std::size_t cells, std::string_view ellipsis);

// Whether the text has a character of a right-to-left script.
bool runs_right_to_left(std::string_view text);

// Returns the text, isolated (U+2068 ... U+2069) if it runs from right to left, so that adjacent numbers stay in place.
std::string isolated(std::string_view text);

// Makes clean text take exactly `cells`: shortened, isolated, then padded with spaces on the right.
std::string fit_to_cells(std::string_view text, std::size_t cells, std::string_view ellipsis);

}  // namespace attnflow
