// An input as tokens: what questions about it are resolved against.
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
  std::string text;                  // as the tokenizer spells it, "##ets"; "" when unknown; "3,4": a patch
  std::optional<std::size_t> begin;  // byte range [begin, end) in InputText::text, or in text_pair for segment 1;
  std::optional<std::size_t> end;    //   absent for tokens that stand for no text ([CLS])
  bool special = false;
  std::optional<std::size_t> word;  // number of the word that the token belongs to, counted over both segments
  std::size_t segment = 0;          // 0, or 1 for tokens of the pair
  // Whether the model sees only its unknown token here, as it does for all characters that its vocabulary lacks. For a
  // word: whether this is true of any of its tokens.
  bool unknown = false;
  std::string role = {};  // images: class, distillation, register or patch; "" for tokens of text
};

struct InputText {
  std::string kind = "text";  // text, attention (array file), or image
  std::string text;
  std::string text_pair;  // "" without a pair
  std::vector<InputToken> tokens;
};

// The user's own characters where a token stands for some, whole ones, else the tokenizer's piece. Several tokens may
// stand for one character.
std::string own_text(const InputText& input, std::size_t token);

// A token's label: its own text, but "é (1/2)" where it is a part of a character, and "\xC3" where the others are
// missing (shown_token.h).
std::string display_text(const InputText& input, std::size_t token);

}  // namespace attnflow
