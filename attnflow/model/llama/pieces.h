// Locates the pieces of a tokenized text, and groups them into words.
//
// libllama returns the ids of a text's tokens and each piece's bytes, but not their locations. Pieces nearly always
// follow each other byte by byte; the exceptions are a space that some tokenizers add at the front, white space that
// they drop around special tokens, and text that they normalize or do not know. So pieces are matched in order, and
// those without a match share the text up to the next match.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/attribution/text_places.h"

namespace attnflow {

// Returns the bytes of `text` that each piece covers, in order, white space included. Ranges do not overlap, except
// that consecutive pieces without a match all get the text up to the next match or the end. `text` is UTF-8; pieces
// need not be. O(text + pieces) if pieces match; each one that does not match costs a search.
std::vector<ByteRange> locate_pieces(std::string_view text, const std::vector<std::string>& pieces);

// Characters that start a new word, in addition to white space. A word includes the single space before it.
enum class WordRule {
  kSpaces,   // nothing
  kClasses,  // GPT-2's rule: letters, numbers, everything else, and 's 't 're 've 'm 'll 'd are different words
  kClassesAndDigits,  // and each digit is a word
};

// Returns the number (from 0) of the word in which each piece begins, from the ranges of locate_pieces(). Pieces marked
// in `alone` (may be empty) are separate words. O(text + pieces). Other tokenizers' rules differ in details, such as
// how punctuation attaches to letters, which affects only which tokens are shown as one word.
std::vector<std::size_t> number_words(std::string_view text, const std::vector<ByteRange>& ranges, WordRule rule,
                                      const std::vector<bool>& alone);

}  // namespace attnflow
