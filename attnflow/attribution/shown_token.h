// Labels for tokens that share one character: the bytes of "é" in byte-level BPE ("Ã", "©") or
// by byte fallback ("<0xC3>", "<0xA9>"), the code points of an emoji. Each is shown as the whole character and its
// place in it, "é (1/2)". Bytes whose character is not all there are shown in hexadecimal, "\xC3".
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace attnflow::internal {

struct TokenPiece {
  std::string_view own;  // the characters of the text that it stands for, whole ones; "" where there are none
  std::string_view piece;
  std::size_t begin = 0;  // of `own` in the text
  std::size_t segment = 0;
};

// Token `token` of `count`. Without characters of its own, and not a part of one, it is shown as its piece.
std::string shown_token(std::size_t count, std::size_t token, const std::function<TokenPiece(std::size_t)>& at);

}  // namespace attnflow::internal
