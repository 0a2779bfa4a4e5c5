// Base64 (RFC 4648, section 4): bytes as text, used for the arrays of the report document among others.
//
// References:
//   S. Josefsson, The Base16, Base32, and Base64 Data Encodings, RFC 4648: https://www.rfc-editor.org/rfc/rfc4648
//
// Example:
//
//     const std::string_view text = "flow";
//     std::string code;
//     base64_append(code, std::as_bytes(std::span(text)));
//     assert(code == "Zmxvdw==" && code.size() == base64_size(text.size()));
//     std::vector<std::byte> bytes(text.size());
//     assert(base64_decode(code, bytes) && static_cast<char>(bytes[0]) == 'f');
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace attnflow {

// Including padding. `bytes` must be below 3/4 of the address space.
constexpr std::size_t base64_size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

// Appends the encoding of `bytes` to `out`. Lengths that are multiples of 3 can be appended successively.
void base64_append(std::string& out, std::span<const std::byte> bytes);

// Decodes `code` into `out`, whose size is the expected number of bytes. Returns false when the length does not match,
// a character is outside the alphabet, the padding is wrong, or unused bits are set: each byte string has one encoding.
bool base64_decode(std::string_view code, std::span<std::byte> out);

}  // namespace attnflow
