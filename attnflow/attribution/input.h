// A tokenized input, which questions refer to.
//
// Example:
//
//     InputText input;
//     input.text = "keys";
//     input.tokens.resize(3);
//     input.tokens[0] = {.text = "[CLS]", .begin = {}, .end = {}, .special = true, .word = {}};
//     input.tokens[1] = {.text = "key", .begin = 0, .end = 3, .word = 0};
//     input.tokens[2] = {.text = "##s", .begin = 3, .end = 4, .word = 0};  // the same word
//     assert(display_text(input, 0) == "[CLS]" && display_text(input, 2) == "s");
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace attnflow {

struct InputToken {
  std::string text;                  // the tokenizer's spelling ("##ets"); "" if unknown; "3,4" for a patch
  std::optional<std::size_t> begin;  // byte range [begin, end) in InputText::text, or in text_pair for segment 1;
  std::optional<std::size_t> end;    //   absent for tokens without text ([CLS])
  bool special = false;
  std::optional<std::size_t> word;  // index of the token's word, counted over both segments
  std::size_t segment = 0;          // 1 for tokens of text_pair
  // Whether the model sees only its unknown token here. For a word: whether this is true of any of its tokens.
  bool unknown = false;
  // Images: class, distillation, register or patch. Text: "", or mean for the output that stands for all tokens.
  std::string role = {};
};

struct InputText {
  std::string kind = "text";  // text, attention (array file) or image
  std::string text;
  std::string text_pair;  // "" without a pair
  std::vector<InputToken> tokens;
};

// Returns the user's own characters that the token covers, whole ones (which tokens may share), else the piece.
std::string own_text(const InputText& input, std::size_t token);

// A token's label: its own text, "é (1/2)" for part of a character, "\xC3" for an incomplete one (shown_token.h).
std::string display_text(const InputText& input, std::size_t token);

}  // namespace attnflow
