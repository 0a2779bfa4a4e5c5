#include "attnflow/attribution/shown_token.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kMostBytes = 4;  // in a character

// Byte-level BPE's alphabet (GPT-2; rust/src/spelling.rs) maps printable Latin-1 bytes to themselves and the others to
// characters from U+0100 on, in order.
constexpr char32_t kAlphabetEnd = 0x144;
constexpr std::uint16_t kNoByte = 0x100;

constexpr std::array<std::uint16_t, kAlphabetEnd> make_alphabet() {
  std::array<std::uint16_t, kAlphabetEnd> bytes{};
  for (std::uint16_t& byte : bytes) byte = kNoByte;
  char32_t next = 0x100;
  for (std::uint16_t byte = 0; byte < 0x100; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    bytes[printable ? byte : next++] = byte;
  }
  return bytes;
}
constexpr std::array<std::uint16_t, kAlphabetEnd> kAlphabet = make_alphabet();

std::optional<std::string> fallback_byte(std::string_view piece) {
  constexpr std::string_view kDigits = "0123456789ABCDEFabcdef";
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return std::nullopt;
  const std::string digits(piece.substr(3, 2));
  if (digits.find_first_not_of(kDigits) != std::string::npos) return std::nullopt;
  return std::string(1, static_cast<char>(std::stoi(digits, nullptr, 16)));
}

// The bytes that a byte-level BPE piece such as "ðŁ" spells, without a leading space.
std::optional<std::string> byte_level_bytes(std::string_view piece) {
  std::string bytes;
  for (std::size_t at = 0; at < piece.size();) {
    const std::optional<char32_t> c = next_code_point(piece, at);
    if (!c || *c >= kAlphabetEnd || kAlphabet[*c] == kNoByte) return std::nullopt;
    bytes += static_cast<char>(kAlphabet[*c]);
  }
  return bytes.starts_with(' ') ? bytes.substr(1) : bytes;
}

// Whether the piece could be letters of a byte-level alphabet: neither raw bytes nor a byte's name.
bool is_of_alphabet(std::string_view piece) { return !find_invalid_utf8(piece) && !fallback_byte(piece); }

// The bytes of a piece that are not whole characters.
std::optional<std::string> cut_bytes(std::string_view piece) {
  if (find_invalid_utf8(piece)) return std::string(piece);
  std::optional<std::string> bytes = fallback_byte(piece);
  if (!bytes) bytes = byte_level_bytes(piece);
  return bytes && find_invalid_utf8(*bytes) ? bytes : std::nullopt;
}

// Whether the piece is only a space before another token, whose range it may share.
bool is_space(std::string_view piece) {
  return piece == "\u2581" || piece == "\u0120" || piece.find_first_not_of(' ') == std::string_view::npos;
}

// Bytes that are not a character become U+FFFD in the text.
bool is_lost(std::string_view own) { return own.find("\uFFFD") != std::string_view::npos; }

// A token's characters may include the space before it.
TokenPiece without_spaces(TokenPiece token) {
  const std::size_t spaces = std::min(token.own.find_first_not_of(' '), token.own.size());
  token.own.remove_prefix(spaces);
  token.begin += spaces;
  return token;
}

std::string part_of(std::string_view character, std::size_t first, std::size_t token, std::size_t last) {
  return fmt::format("{} ({}/{})", character, token - first + 1, last - first + 1);
}

}  // namespace

std::string shown_token(std::size_t count, std::size_t token, const std::function<TokenPiece(std::size_t)>& at) {
  const TokenPiece one = at(token);
  if (!one.own.empty() && !is_lost(one.own)) {
    const auto meet = [&](std::size_t before) {
      const TokenPiece left = without_spaces(at(before));
      const TokenPiece right = without_spaces(at(before + 1));
      return left.segment == right.segment && !left.own.empty() && !right.own.empty() && !is_space(left.piece) &&
             !is_space(right.piece) && left.begin <= right.begin && right.begin < left.begin + left.own.size();
    };
    const std::string_view own = without_spaces(one).own;
    if (own.empty() || is_space(one.piece)) return std::string(one.own);
    std::size_t first = token;
    std::size_t last = token;
    while (first > 0 && meet(first - 1)) --first;
    while (last + 1 < count && meet(last)) ++last;
    return first == last ? std::string(one.own) : part_of(own, first, token, last);
  }

  // Alone, "Ã" may be a letter; it is a byte if other tokens are spelled in that alphabet.
  const auto spells_bytes = [&] {
    for (std::size_t other = 0; other < count; ++other) {
      const std::string_view piece = at(other).piece;
      if (piece.starts_with("\u0120") || piece.starts_with("\u010A")) return true;
    }
    return false;
  };
  std::optional<std::string> bytes = cut_bytes(one.piece);
  const bool sure = !one.own.empty() || !bytes || !is_of_alphabet(one.piece) || spells_bytes();
  if (!bytes || !sure) return std::string(one.own.empty() ? one.piece : one.own);
  const auto bytes_at = [&](std::size_t other) -> std::optional<std::string> {
    const TokenPiece two = at(other);
    if (two.segment != one.segment || (!two.own.empty() && !is_lost(two.own))) return std::nullopt;
    return cut_bytes(two.piece);
  };
  // Looks for the character that begins in an earlier token (or this one) and includes this one.
  for (std::size_t first = token + 1; first-- > 0 && token - first < kMostBytes;) {
    std::string character;
    for (std::size_t last = first; last < count && character.size() < kMostBytes; ++last) {
      const std::optional<std::string> more = bytes_at(last);
      if (!more) break;
      character += *more;
      std::size_t end = 0;
      const bool whole = next_code_point(character, end) && end == character.size();
      if (whole && last >= token) return part_of(character, first, token, last);
    }
    if (!bytes_at(first)) break;
  }
  return escape_invalid_utf8(*bytes);
}

}  // namespace attnflow::internal
