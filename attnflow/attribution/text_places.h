// Readable token ranges in a text: whole characters, without the spaces around a word.
//
// Example:
//
//     InputText input;
//     input.text = "caf\u00e9s!";
//     input.tokens.resize(3);
//     place_tokens(input, {{{.begin = 0, .end = 4, .split = 0}}, {{.begin = 4, .end = 5, .split = 0}},
//                          {{.begin = 5, .end = 6, .split = 1}}});
//     assert(input.tokens[0].end == 5);  // in bytes
//     assert(input.tokens[1].word == 0 && input.tokens[2].word == 1);
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "attnflow/attribution/input.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {

struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// Extends the range to whole characters and trims white space unless there is nothing else. `text` is UTF-8.
ByteRange readable_range(std::string_view text, ByteRange range);

// An external tokenizer's place of a token: its code points, and the index of the pre-tokenizer's piece around it.
struct TokenPlace {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t split = 0;
};

// Sets begin, end and word of the tokens of input.text from one place each; absent for tokens without text. Like the
// program's own tokenizers, it makes ranges readable and extends them to the end of a visible character (accents,
// joiners) unless another token covers it; a word ends at a split or white space. Throws Error(kBadFile) for places
// beyond the text, Error(kUsage) for text that is not UTF-8.
void place_tokens(InputText& input, const std::vector<std::optional<TokenPlace>>& places);

namespace internal {

CharacterClass class_at(std::string_view text, std::size_t at);
std::size_t skip_spaces(std::string_view text, std::size_t at);

}  // namespace internal
}  // namespace attnflow
