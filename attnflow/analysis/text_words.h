// The words of a report's input, and finding one by its text.
//
// A word is what the tokenizer's pre-tokenizer does not split further; of an attention file it is a token that has a
// text. Words are matched as the user wrote them; those that differ in case (Latin, Greek and Cyrillic letters) count
// when no other word does.
#ifndef ATTNFLOW_ANALYSIS_TEXT_WORDS_H_
#define ATTNFLOW_ANALYSIS_TEXT_WORDS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "attnflow/report/report.h"

namespace attnflow {

struct TextWord {
  std::string text;                 // the user's characters, without a space before them
  std::vector<std::size_t> tokens;  // positions of its pieces, increasing
};

// In order, without special tokens that stand for no text.
std::vector<TextWord> text_words(const Report& report);

// Indices of the words with this text.
std::vector<std::size_t> find_words(const std::vector<TextWord>& words, const std::string& text);

// "the key to cabinets", or "... and 12 more": each text once, safe to print.
std::string list_words(const std::vector<TextWord>& words);

// The output token of a report whose settings and input are set, with positions of tokens that are not merged yet.
// What settings.output_token asks for is, in this order,
//   auto, cls, mask, last, all   as resolve_output_token() (settings.h) has them
//   5                            a position
//   cabinets                     the word of that text; of several pieces the last one, with a note unless
//                                settings.words merges them
//   ets, ##ets, [SEP]            the piece with that text, the user's or the tokenizer's
//   Cabinets                     the word that differs in case alone
// Throws Error(kUsage) where there is no such token, or several.
std::size_t resolve_output_token(const Report& report, std::vector<std::string>& notes);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_TEXT_WORDS_H_
