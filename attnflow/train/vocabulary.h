// A WordPiece vocabulary of whole words, where rare words keep their ending.
#ifndef ATTNFLOW_TRAIN_VOCABULARY_H_
#define ATTNFLOW_TRAIN_VOCABULARY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attnflow/train/word_counts.h"

namespace attnflow {

struct VocabularyOptions {
  std::size_t size = 10'000;  // pieces in all, at most
  std::vector<std::string> specials = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  std::size_t max_pieces = 1'200;           // learned pieces of words, at most; nor more than every fourth piece
  std::uint64_t min_word_count = 2;         // rarer words are not whole
  std::uint64_t min_character_count = 100;  // rarer characters make their word unknown
};

// Pieces in this order, the position being the id:
//   specials
//   characters   those that begin a word, then those that go on inside one ("##x"), both by code point
//   endings      ##es ##ies  ##ss ##ess ##iss ##uss ##us ##ous ##is ##ness ##less  ##ed ##ing ##ly ##ally; ##s and
//                ##d are characters
//   learned      pieces of stems, in the order in which they were learned
//   words        by falling count, equal counts by bytes
struct Vocabulary {
  std::vector<std::string> pieces;
  std::size_t specials = 0;  // how many there are of each kind
  std::size_t characters = 0;
  std::size_t endings = 0;
  std::size_t learned = 0;
  std::size_t words = 0;
};

// Problem. A picture of attention is read by its tokens, so as many of them as possible should be whole words. The
// others must be cut such that a model of subject-verb agreement still sees a noun's number.
//
// Method. The most frequent words are whole. The others ("rare words") are split into stem and endings
// (train/word_endings.h: gadget|s, draw|ing|s, foc|us), and pieces are learned from the stems alone by byte-pair
// encoding weighted by count (train/byte_pair.h), so that none spans the border. Stems with digits take no part. Then
// all rare words are cut as the tokenizer will cut them; learned pieces that occur there less often than the most
// frequent rare word are dropped, and more whole words take their places.
//
// How rare words are really cut. WordPiece is greedy: from the left it takes the longest piece that fits, whatever it
// was learned from. Whole words serve as first pieces ("carters" is "carter", "##s"), and a piece may swallow letters
// of an ending that it was not learned beside ("thrombo", "##si", "##s" for thrombos|is). So what goes on inside a word
// is learned only if
//   (a) it does not end in s. Hence every word in s that is not whole ends in ##s or one of the endings in s above:
//       plural nouns and verbs in ##s, ##es or ##ies (which one, the pieces before decide), singular nouns and
//       adjectives in one of the others;
//   (b) it ends neither in i nor in u (but in qu), which could be the beginning of is, us, ing;
//   (c) it does not end in ed, ing, ly or in.
// Exceptions stay: plurals of stems in i or u look like singulars (Iraq|is), and whole words as first pieces can
// swallow a border (his|s). Measured on 60 MB of textbooks and essays, by running words that are not whole: 99.9% of
// 152,000 that split_endings takes for inflected end in ##s, ##es or ##ies, and 99.8% of 32,000 that it takes for
// singular in s end in another ending. The rules cost 0.1% more pieces.
//
// Letters a to z and digits stand in both forms whatever their count, so every plain English word can be cut. Other
// characters stand in the forms in which they occur, if they occur min_character_count times.
//
// O(distinct words) memory; 110,000 distinct words take about a second. The result depends on counts and
// options alone. Throws Error(kUsage): no words; an empty or repeated special token; a size that has no room for
// specials, characters, endings and a single word or piece more.
Vocabulary learn_vocabulary(const WordCounts& counts, const VocabularyOptions& options = {});

// Running words that are not whole, by their ending as split_endings finds it.
struct EndingUse {
  std::uint64_t rare = 0;   // all
  std::uint64_t shown = 0;  // those whose last piece is an ending of the same kind
  double share() const;     // shown / rare, 0 when there are none
};

// How a vocabulary serves a text. Counts are of running words.
struct VocabularyUse {
  std::uint64_t words = 0;
  std::uint64_t whole = 0;    // one piece
  std::uint64_t unknown = 0;  // [UNK]
  std::uint64_t pieces = 0;   // of all words, an unknown one counting as one
  EndingUse inflected;        // ##s, ##es, ##ies: any of the three
  EndingUse singular;         // in s without inflection (focus, crisis, kindness): any of the others in s
  EndingUse other;            // ##ed or ##d; ##ing; ##ly or ##ally

  double whole_share() const;
  double pieces_per_word() const;
};

// The endings are judged by `counts`, which therefore should be those of a whole text.
VocabularyUse measure_vocabulary(const std::vector<std::string>& pieces, const WordCounts& counts);

}  // namespace attnflow

#endif  // ATTNFLOW_TRAIN_VOCABULARY_H_
