// Text as Unicode defines it: bytes in UTF-8, the code points that they encode, and the characters that readers see.
//
// Text comes from files and from users, so every function takes any bytes. What is not well-formed UTF-8 (Unicode 15,
// table 3-7: overlong forms, surrogates, values above U+10FFFF and characters that are cut off are not) counts byte by
// byte: each such byte is a unit of its own and stands for U+FFFD.
//
// Properties and rules are those of the Unicode version that utf8proc was built with. The locale of the machine is
// never asked. All functions may be called from several threads at a time.
//
// References:
//   UTF-8: https://www.rfc-editor.org/rfc/rfc3629
//   Graphemes: Unicode Text Segmentation, UAX #29: https://www.unicode.org/reports/tr29/
//
// Example:
//
//     const std::string text = "e\u0301!";  // an e with an accent of its own, and "!"
//     std::size_t code_points = 0, characters = 0;
//     for (std::size_t at = 0; at < text.size(); next_code_point(text, at)) ++code_points;
//     for (std::size_t at = 0; at < text.size(); at = grapheme_end(text, at)) ++characters;
//     assert(code_points == 3 && characters == 2);
#ifndef ATTNFLOW_UNICODE_UNICODE_H_
#define ATTNFLOW_UNICODE_UNICODE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attnflow {

// What stands for a byte that is not UTF-8.
inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// ---- UTF-8 ----

// True for the code points that text may hold: up to U+10FFFF without surrogates.
constexpr bool is_scalar_value(char32_t c) { return c <= 0x10FFFF && !(c >= 0xD800 && c <= 0xDFFF); }

// The offset of the first byte that is not part of UTF-8; nothing when all bytes are.
std::optional<std::size_t> find_invalid_utf8(std::string_view bytes);

// For text that a user gave: throws Error(kUsage) where it is not UTF-8. `name` is what the message calls it: "text".
void check_utf8(std::string_view text, std::string_view name);

// The code point that starts at text[at], and `at` behind it; nothing, and `at` one byte further, where the bytes are
// not UTF-8. at < text.size().
std::optional<char32_t> next_code_point(std::string_view text, std::size_t& at);

// As next_code_point, with U+FFFD for a byte that is not UTF-8.
char32_t next_or_replacement(std::string_view text, std::size_t& at);

// Whether a code point begins at text[at] rather than goes on there; true at the end of the text, and behind it. For
// text that is UTF-8.
bool is_code_point_boundary(std::string_view text, std::size_t at);

// Where the code point begins that the byte text[at] is part of; `at` itself at the end of the text. For text that is
// UTF-8.
std::size_t code_point_begin(std::string_view text, std::size_t at);

// How many bytes at the end, 0 to 3, are the beginning of a character whose rest has not come yet.
std::size_t incomplete_utf8(std::string_view bytes);

// The text with each byte that is not UTF-8 written in hexadecimal: "a\xC3".
std::string escape_invalid_utf8(std::string_view text);

// Appends the UTF-8 form of a scalar value.
void append_utf8(std::string& text, char32_t c);

// All code points, U+FFFD for each byte that is not UTF-8.
std::u32string decode_utf8(std::string_view text);

// The text with `replacement` in place of each byte that is not UTF-8.
std::string repair_utf8(std::string_view text, std::string_view replacement = "\uFFFD");

// The text with change(c) in place of each code point c. char32_t change(char32_t).
template <typename Change>
std::string map_code_points(std::string_view text, const Change& change) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) append_utf8(out, change(next_or_replacement(text, at)));
  return out;
}

// ---- Code points ----

// General_Category, as far as words are told apart by it.
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

// What can be shown in place of a control character: U+2400... for those of ASCII, U+FFFD for the others. Any other
// code point stays.
char32_t control_picture(char32_t c);

// True for letters of scripts that run from right to left, and for the digits that go with them (Bidi_Class R, AL, AN).
bool is_right_to_left(char32_t c);

// The form in which texts are compared without regard to case: full case folding ("ß" is "ss"), composed (NFC).
std::string fold_case(std::string_view text);

// ---- Graphemes: what readers see as one character (UAX #29, extended grapheme clusters) ----
//
// A letter with its accents, a Hangul syllable, an emoji sequence joined by U+200D, a flag.

// Where the grapheme that begins at text[at] ends. at < text.size().
std::size_t grapheme_end(std::string_view text, std::size_t at);

// Whether text may be cut in front of text[at] without cutting a grapheme. For text that is UTF-8. Reads no further
// back than the beginning of the grapheme, or of the row of flags.
bool is_grapheme_boundary(std::string_view text, std::size_t at);

}  // namespace attnflow

#endif  // ATTNFLOW_UNICODE_UNICODE_H_
