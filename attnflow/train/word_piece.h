// Cutting words into the pieces of a vocabulary.
#ifndef ATTNFLOW_TRAIN_WORD_PIECE_H_
#define ATTNFLOW_TRAIN_WORD_PIECE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/train/text_hash.h"

namespace attnflow {

// WordPiece (Wu et al. 2016, as BERT's tokenizer runs it): from the left, again and again the longest piece that fits,
// where pieces inside a word carry "##". A word that cannot be cut to its end, or of more than 100 characters, is
// unknown. It gives the ids that the finished tokenizer gives for the same word, without its normalization.
//
// A word of n bytes costs O(n m) hashed bytes, m being the longest piece. Immutable: threads may share it.
class WordPiece {
 public:
  // Id = position. When two pieces are equal, the first counts.
  explicit WordPiece(const std::vector<std::string>& pieces);

  // Ids of the pieces; empty when the word is unknown, or empty itself.
  std::vector<std::uint32_t> cut(std::string_view word) const;
  // The id of a piece as the vocabulary spells it.
  std::optional<std::uint32_t> id(std::string_view piece) const;

 private:
  using Ids = internal::TextMap<std::uint32_t>;

  Ids first_;         // pieces that begin a word
  Ids continuation_;  // the others, without ##
  std::size_t longest_ = 0;
};

}  // namespace attnflow

#endif  // ATTNFLOW_TRAIN_WORD_PIECE_H_
