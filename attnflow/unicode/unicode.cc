#include "attnflow/unicode/unicode.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "attnflow/base/fail.h"

namespace attnflow {
namespace {

const utf8proc_uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

std::int32_t signed_code(char32_t c) { return static_cast<std::int32_t>(c); }

const utf8proc_property_t& property(char32_t c) { return *utf8proc_get_property(signed_code(c)); }

// Marks and joiners may tie the character after them to those before, so the two code points around a position after
// one do not determine whether it is a boundary.
bool may_tie(char32_t c) {
  const auto kind = property(c).boundclass;
  return kind == UTF8PROC_BOUNDCLASS_EXTEND || kind == UTF8PROC_BOUNDCLASS_ZWJ;
}

char32_t code_point_at(std::string_view text, std::size_t at) { return next_or_replacement(text, at); }

// Whether the bytes are the beginning of a character that is incomplete. At every position, the allowed bytes are a
// range that begins with 0x80 or ends with 0xBF, so anything that can be completed is completed by one of the two.
bool begins_character(std::string_view bytes) {
  for (const char filler : {'\x80', '\xBF'}) {
    for (std::size_t length = bytes.size() + 1; length <= 4; ++length) {
      std::array<char, 4> whole;
      whole.fill(filler);
      std::copy(bytes.begin(), bytes.end(), whole.begin());
      std::size_t at = 0;
      if (next_code_point({whole.data(), length}, at) && at == length) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t begin = at;
    if (!next_code_point(bytes, at)) return begin;
  }
  return std::nullopt;
}

void check_utf8(std::string_view text, std::string_view name) {
  const std::optional<std::size_t> offset = find_invalid_utf8(text);
  if (!offset) return;
  fail_with(ErrorKind::kUsage,
            "the {} must be UTF-8, found byte 0x{:02X} at offset {}, which is not; "
            "convert it to UTF-8 first",
            name, static_cast<unsigned char>(text[*offset]), *offset);
}

std::optional<char32_t> next_code_point(std::string_view text, std::size_t& at) {
  const auto first = static_cast<std::uint8_t>(text[at]);
  if (first < 0x80) {
    ++at;
    return first;
  }
  utf8proc_int32_t c = -1;
  const std::string_view rest = text.substr(at, 4);
  const utf8proc_ssize_t length = utf8proc_iterate(bytes_of(rest), static_cast<utf8proc_ssize_t>(rest.size()), &c);
  if (length <= 0) {
    ++at;
    return std::nullopt;
  }
  at += static_cast<std::size_t>(length);
  return static_cast<char32_t>(c);
}

char32_t next_or_replacement(std::string_view text, std::size_t& at) {
  return next_code_point(text, at).value_or(kReplacementCharacter);
}

bool is_code_point_boundary(std::string_view text, std::size_t at) {
  return at >= text.size() || (static_cast<std::uint8_t>(text[at]) & 0xC0U) != 0x80U;
}

std::size_t code_point_begin(std::string_view text, std::size_t at) {
  while (at > 0 && !is_code_point_boundary(text, at)) --at;
  return at;
}

std::size_t incomplete_utf8(std::string_view bytes) {
  for (std::size_t length = std::min<std::size_t>(bytes.size(), 3); length > 0; --length) {
    if (begins_character(bytes.substr(bytes.size() - length))) return length;
  }
  return 0;
}

void append_utf8(std::string& text, char32_t c) {
  std::array<utf8proc_uint8_t, 4> bytes;
  const utf8proc_ssize_t length = utf8proc_encode_char(signed_code(c), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) points.push_back(next_or_replacement(text, at));
  return points;
}

std::string repair_utf8(std::string_view text, std::string_view replacement) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    out += next_code_point(text, at) ? text.substr(begin, at - begin) : replacement;
  }
  return out;
}

std::string escape_invalid_utf8(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const bool valid = next_code_point(text, at).has_value();
    out += valid ? std::string(text.substr(begin, at - begin))
                 : fmt::format("\\x{:02X}", static_cast<unsigned char>(text[begin]));
  }
  return out;
}

CharacterClass character_class(char32_t c) {
  switch (utf8proc_category_string(signed_code(c))[0]) {
    case 'L':
      return CharacterClass::kLetter;
    case 'M':
      return CharacterClass::kMark;
    case 'N':
      return CharacterClass::kNumber;
    case 'Z':
      return CharacterClass::kSpace;
    default:
      // The control characters in White_Space: tab to carriage return, and NEL.
      return (c >= 0x09 && c <= 0x0D) || c == 0x85 ? CharacterClass::kSpace : CharacterClass::kOther;
  }
}

char32_t control_picture(char32_t c) {
  if (!is_control(c)) return c;
  if (c < 0x20) return c + 0x2400;
  return c == 0x7F ? U'\u2421' : kReplacementCharacter;
}

bool is_right_to_left(char32_t c) {
  const auto direction = property(c).bidi_class;
  return direction == UTF8PROC_BIDI_CLASS_R || direction == UTF8PROC_BIDI_CLASS_AL ||
         direction == UTF8PROC_BIDI_CLASS_AN;
}

std::string fold_case(std::string_view text) {
  const std::string whole = repair_utf8(text);
  utf8proc_uint8_t* folded = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(bytes_of(whole), static_cast<utf8proc_ssize_t>(whole.size()), &folded,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(folded, &std::free);
  if (length < 0) throw std::bad_alloc();  // without options, running out of memory is the only way to fail for UTF-8
  return {reinterpret_cast<const char*>(folded), static_cast<std::size_t>(length)};
}

std::size_t grapheme_end(std::string_view text, std::size_t at) {
  utf8proc_int32_t state = 0;
  char32_t before = next_or_replacement(text, at);
  while (at < text.size()) {
    std::size_t behind = at;
    const char32_t c = next_or_replacement(text, behind);
    if (utf8proc_grapheme_break_stateful(signed_code(before), signed_code(c), &state)) break;
    before = c;
    at = behind;
  }
  return at;
}

bool is_grapheme_boundary(std::string_view text, std::size_t at) {
  if (at == 0 || at >= text.size()) return true;
  if (!is_code_point_boundary(text, at)) return false;
  // Goes back to a position that is a boundary regardless of earlier text, and forward from there.
  std::size_t begin = code_point_begin(text, at - 1);
  while (begin > 0) {
    const std::size_t previous = code_point_begin(text, begin - 1);
    const char32_t before = code_point_at(text, previous);
    if (!may_tie(before) && utf8proc_grapheme_break(signed_code(before), signed_code(code_point_at(text, begin))))
      break;
    begin = previous;
  }
  while (begin < at) begin = grapheme_end(text, begin);
  return begin == at;
}

}  // namespace attnflow
