// UTF-8 and code points, for the fixed-width UTF-32 text of NumPy files and for messages.
#ifndef ATTNFLOW_FILES_UTF8_H_
#define ATTNFLOW_FILES_UTF8_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attnflow::internal {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// True for the code points that text may hold: up to U+10FFFF without surrogates.
constexpr bool is_scalar_value(char32_t c) { return c <= 0x10FFFF && !(c >= 0xD800 && c <= 0xDFFF); }

// The code point that starts at text[at], whose length is added to `at`; nothing, and `at` one byte further, where the
// bytes are not UTF-8 (overlong forms and surrogates included). at < text.size().
std::optional<char32_t> next_code_point(std::string_view text, std::size_t& at);

// Appends the UTF-8 form of a scalar value.
void append_utf8(std::string& text, char32_t c);

// All code points; each byte that is not part of UTF-8 becomes U+FFFD.
std::u32string decode_utf8(std::string_view text);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_UTF8_H_
