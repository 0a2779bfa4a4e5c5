// Where the pieces of a tokenized text stand in it, and which of them form words.
//
// libllama gives the ids of a text's tokens and the bytes of each piece, but not where they came from. Nearly always
// the pieces follow each other in the text byte by byte; what differs is a space that some tokenizers put in front,
// white space that they drop around special tokens, and text that they normalize or do not know. So pieces are matched
// in order, and those that match nothing share the text up to the next one that does.
#ifndef ATTNFLOW_MODEL_LLAMA_PIECES_H_
#define ATTNFLOW_MODEL_LLAMA_PIECES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/attribution/text_places.h"

namespace attnflow {

// The bytes of `text` that each piece covers: in order, without overlap, white space included. `text` is UTF-8; pieces
// need not be. O(text + pieces) where pieces match; each one that does not match costs a search.
std::vector<ByteRange> locate_pieces(std::string_view text, const std::vector<std::string>& pieces);

// What starts a new word beside white space. A word takes the single space before it along.
enum class WordRule {
  kSpaces,   // nothing
  kClasses,  // GPT-2's rule: letters, numbers, everything else, and 's 't 're 've 'm 'll 'd are different words
  kClassesAndDigits,  // and each digit is one
};

// The number of the word that each piece begins in, from 0, from the ranges of locate_pieces(). The pieces that `alone`
// (may be empty) names are words of their own. O(text + pieces).
//
// Rules of other tokenizers differ in details (which punctuation sticks to which letters), and of characters beyond
// ASCII only blocks are known here, not Unicode's classes: what these decide is which tokens are shown as one word.
std::vector<std::size_t> number_words(std::string_view text, const std::vector<ByteRange>& ranges, WordRule rule,
                                      const std::vector<bool>& alone);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_LLAMA_PIECES_H_
