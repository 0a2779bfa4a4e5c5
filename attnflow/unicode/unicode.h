// Text as defined by Unicode: UTF-8 bytes, the code points that they encode, and the characters that readers see.
//
// Text comes from files and users, so every function accepts any bytes. Bytes that are not well-formed UTF-8 (Unicode
// 15, table 3-7, which excludes overlong forms, surrogates, values above U+10FFFF and truncated characters) are handled
// one by one: each such byte is a separate unit that represents U+FFFD.
//
// Properties and rules are those of the Unicode version that utf8proc was built with, independent of the machine's
// locale. All functions may be called from several threads at a time.
//
// References:
//   UTF-8: https://www.rfc-editor.org/rfc/rfc3629
//   Graphemes: Unicode Text Segmentation, UAX #29: https://www.unicode.org/reports/tr29/
//
// Example:
//
//     const std::string text = "e\u0301!";  // an e with a separate accent, and "!"
//     std::size_t code_points = 0, characters = 0;
//     for (std::size_t at = 0; at < text.size(); next_code_point(text, at)) ++code_points;
//     for (std::size_t at = 0; at < text.size(); at = grapheme_end(text, at)) ++characters;
//     assert(code_points == 3 && characters == 2);
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attnflow {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// ---- UTF-8 ----

// True for the code points allowed in text: up to U+10FFFF without surrogates.
constexpr bool is_scalar_value(char32_t c) { return c <= 0x10FFFF && !(c >= 0xD800 && c <= 0xDFFF); }

// Returns the offset of the first byte that is not valid UTF-8, or nothing if all are.
std::optional<std::size_t> find_invalid_utf8(std::string_view bytes);

// For user input: throws Error(kUsage) if it is not UTF-8. Messages call it `name`: "text".
void check_utf8(std::string_view text, std::string_view name);

// Returns the code point that starts at text[at] and advances `at` past it; if the bytes are not UTF-8, returns nothing
// and advances `at` by one byte. at < text.size().
std::optional<char32_t> next_code_point(std::string_view text, std::size_t& at);

char32_t next_or_replacement(std::string_view text, std::size_t& at);

// Whether a code point begins at text[at], as opposed to continuing there; true at and beyond the end of the text. The
// text must be UTF-8.
bool is_code_point_boundary(std::string_view text, std::size_t at);

// Returns the beginning of the code point that contains the byte text[at]; `at` itself at the end of the text. The text
// must be UTF-8.
std::size_t code_point_begin(std::string_view text, std::size_t at);

// Returns the number of bytes at the end, 0 to 3, that are the beginning of an incomplete character.
std::size_t incomplete_utf8(std::string_view bytes);

std::string escape_invalid_utf8(std::string_view text);

void append_utf8(std::string& text, char32_t c);

std::u32string decode_utf8(std::string_view text);

std::string repair_utf8(std::string_view text, std::string_view replacement = "\uFFFD");

// Returns the text with each code point c replaced by change(c). char32_t change(char32_t).
template <typename Change>
std::string map_code_points(std::string_view text, const Change& change) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) append_utf8(out, change(next_or_replacement(text, at)));
  return out;
}

// ---- Code points ----

// General_Category, as far as it matters for words.
enum class CharacterClass {
  kLetter,  // L
  kMark,    // M: accents, vowel signs
  kNumber,  // N
  kSpace,   // White_Space, line breaks included
  kOther,   // punctuation, symbols, controls, unassigned
};
CharacterClass character_class(char32_t c);

// The control characters: U+0000 to U+001F and U+007F to U+009F.
constexpr bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

// A visible character for a control character: U+2400... for ASCII ones, else U+FFFD. Other code points are unchanged.
char32_t control_picture(char32_t c);

// True for letters of right-to-left scripts and the digits used with them (Bidi_Class R, AL, AN).
bool is_right_to_left(char32_t c);

// Returns the form for comparing texts regardless of case: full case folding ("ß" is "ss"), composed (NFC).
std::string fold_case(std::string_view text);

// ---- Graphemes: characters as readers see them (UAX #29, extended grapheme clusters) ----
//
// Examples: a letter with its accents, a Hangul syllable, an emoji sequence joined by U+200D, a flag.

// Returns the end of the grapheme that begins at text[at]. at < text.size().
std::size_t grapheme_end(std::string_view text, std::size_t at);

// Whether text can be split before text[at] without splitting a grapheme. The text must be UTF-8. Reads back no further
// than the beginning of the grapheme, or of a sequence of flags.
bool is_grapheme_boundary(std::string_view text, std::size_t at);

}  // namespace attnflow
