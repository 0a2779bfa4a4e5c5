// Text that arrives token by token; a token may end inside a character.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/text/text_codec.h"

namespace attnflow::internal {

class GeneratedText {
 public:
  // `said` (may be empty) gets the text as it arrives, in whole characters. `begins`: no text precedes, so the space
  // that separates its first word is left out.
  GeneratedText(const TextCodec& codec, std::function<void(std::string_view)> said, bool begins = false)
      : codec_(codec), said_(std::move(said)), begins_text_(begins) {}

  void add(std::int64_t id);
  // No more tokens: an incomplete character becomes U+FFFD.
  void finish();

  // UTF-8; every byte that is no part of a character is U+FFFD.
  const std::string& text() const { return text_; }
  // After finish(): the bytes of text() that token t contributed to; empty for a token that adds none.
  std::pair<std::size_t, std::size_t> range(std::size_t t) const;

 private:
  // Moves whole characters from bytes_ to text_; with `last`, the rest too.
  void take(bool last);

  const TextCodec& codec_;
  std::function<void(std::string_view)> said_;
  bool begins_text_;
  std::string bytes_;      // all bytes so far
  std::size_t taken_ = 0;  // of bytes_
  std::string text_;
  std::vector<std::size_t> ends_;    // of each token, in bytes_
  std::vector<std::size_t> begins_;  // [bytes]: where in text_ the character of this byte begins
};

}  // namespace attnflow::internal
