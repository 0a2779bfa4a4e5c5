// Labels for tokens that share one character, such as the bytes of "é" in byte-level BPE ("Ã", "©") or byte fallback
// ("<0xC3>", "<0xA9>"), or the code points of an emoji. Each label is the whole character and the token's place in it,
// "é (1/2)". Bytes of an incomplete character are shown in hexadecimal, "\xC3".
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace attnflow::internal {

struct TokenPiece {
  std::string_view own;  // the characters of the text that it covers, whole ones; "" if none
  std::string_view piece;
  std::size_t begin = 0;  // start of `own` in the text
  std::size_t segment = 0;
};

// Returns the label of token `token` of `count`: its piece if it has no characters of its own and is not part of one.
std::string shown_token(std::size_t count, std::size_t token, const std::function<TokenPiece(std::size_t)>& at);

}  // namespace attnflow::internal
