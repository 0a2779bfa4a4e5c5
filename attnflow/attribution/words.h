// The words of an input, and search by text.
//
// A word is a piece that the pre-tokenizer does not split; in an attention file, it is a token with text. Matching is
// exact; words that differ only in case (Latin, Greek and Cyrillic letters) match if no other word does.
//
// Example:
//
//     for (const TextWord& word : text_words(input)) {  // of "The keys rust"
//       std::printf("%s: %zu subword tokens\n", word.text.c_str(), word.tokens.size());
//     }
//     assert((find_words(text_words(input), "the") == std::vector<std::size_t>{0}));  // "The": no word is "the"
//     const TokenGroups groups = word_groups(input.tokens);  // {0}, {1}, {2, 3}, {4}, {5}: "keys" is tokens 2 and 3
//     assert(groups.size() == 5 && merge_tokens(input, groups[2]).text == "keys");
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attnflow/attribution/input.h"
#include "attnflow/graph/normalize.h"

namespace attnflow {

// Groups each word's subword tokens; a token without a word is alone. In order, every token once.
TokenGroups word_groups(const std::vector<InputToken>& tokens);

// Merges one word's subword tokens: the user's characters if the input has them, else the tokens' texts joined.
InputToken merge_tokens(const InputText& input, const std::vector<std::size_t>& pieces);

struct TextWord {
  std::string text;                 // the user's characters, without a space before them
  std::vector<std::size_t> tokens;  // positions, increasing
};

// In order, without special tokens that have no text.
std::vector<TextWord> text_words(const InputText& input);

std::vector<std::size_t> find_exact_words(const std::vector<TextWord>& words, const std::string& text);
std::vector<std::size_t> find_words(const std::vector<TextWord>& words, const std::string& text);

// "the key to cabinets", or "... and 12 more": each text once.
std::string list_words(const std::vector<TextWord>& words);

// A byte-level token may include the space before its word.
std::string without_leading_spaces(std::string text);

}  // namespace attnflow
