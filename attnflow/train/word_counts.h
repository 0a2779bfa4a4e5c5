// How often each word stands in a text.
#ifndef ATTNFLOW_TRAIN_WORD_COUNTS_H_
#define ATTNFLOW_TRAIN_WORD_COUNTS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace attnflow {

// Words in lower case and UTF-8, sorted by bytes, with how often each occurs.
using WordCounts = std::map<std::string, std::uint64_t>;

// The words of all paragraphs, as the tokenizer of tokenizer_file.h splits them before it looks anything up
// (BertNormalizer, then BertPreTokenizer): lower case without accents, a word ends at white space, and every
// punctuation mark is a word of its own. "Don't" gives "don", "'", "t".
//
// Each distinct run of text between spaces is split once: runs of plain ASCII here, all others by the tokenizers crate,
// whose Unicode tables are those that the finished tokenizer has. O(bytes) and a table of the distinct runs: three
// seconds for 60 MB. Throws Error(kBadFile) on text that is not UTF-8, naming the paragraph (from 0).
WordCounts count_words(std::span<const std::string> paragraphs);

// Adds the counts of `more`, so that documents can be counted one by one.
void add_counts(WordCounts& counts, const WordCounts& more);

}  // namespace attnflow

#endif  // ATTNFLOW_TRAIN_WORD_COUNTS_H_
