// Where tokens stand in a text, made for reading: whole characters, without the spaces around a word.
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

// Whole characters, without white space at the ends unless there is nothing else. `text` is UTF-8.
ByteRange readable_range(std::string_view text, ByteRange range);

// What a tokenizer elsewhere tells of a token: the code points that it covers, and the number of the piece of text that
// the tokenizer split off before it made tokens of it.
struct TokenPlace {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t split = 0;
};

// Sets begin, end and word of the tokens of input.text, one place for each; nothing for those that stand for no text.
// As the program's own tokenizers do it: ranges are readable, and reach to the end of a character as readers see it
// (accents, joiners) where no other token covers that; a word ends where a split or white space does. Throws
// Error(kBadFile) for places beyond the text, Error(kUsage) for text that is not UTF-8.
void place_tokens(InputText& input, const std::vector<std::optional<TokenPlace>>& places);

namespace internal {

// The class of the character that byte `at` is part of.
CharacterClass class_at(std::string_view text, std::size_t at);
// The end of the white space that begins at `at`.
std::size_t skip_spaces(std::string_view text, std::size_t at);

}  // namespace internal
}  // namespace attnflow
