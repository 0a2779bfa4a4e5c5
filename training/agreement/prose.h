// English prose from text files: documents, sentences, words.
//
// A document is one UTF-8 text file; one line of it is one paragraph. A sentence is a range of bytes of a paragraph, a
// word a range of bytes of a sentence, so that any piece of text can be shown as its author wrote it.
#ifndef ATTNFLOW_TRAINING_AGREEMENT_PROSE_H_
#define ATTNFLOW_TRAINING_AGREEMENT_PROSE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow {

struct ProseDocument {
  std::string name;                     // the file's name without its ending; unique among the documents read together
  std::uint64_t bytes = 0;              // of the file
  std::vector<std::string> paragraphs;  // UTF-8 without line ends; lines of white space only are left out
};

// Reads text files, and of a folder every file in it that ends in .txt (not of folders below it), in the order of the
// arguments and by name inside a folder. A byte order mark is dropped, lines end with LF, CRLF or CR, and NUL is read
// as a space.
// Throws Error(kBadFile), which names the file: missing or unreadable; bytes that are not UTF-8 (with their offset);
// two documents of one name; a folder without any .txt file; `paths` empty.
std::vector<ProseDocument> read_prose(const std::vector<std::filesystem::path>& paths);

// The sentences of a paragraph, without white space around them; together they hold everything but that white space.
//
// A sentence ends behind '.', '!', '?' or an ellipsis, and the closing quotation marks and brackets after it, where
// white space and something that can begin a sentence follow: a capital letter or a digit, or an opening quotation
// mark or bracket with one behind it. '.' does not end a sentence
//   behind an abbreviation that is never last (Dr., Mrs., St., e.g., i.e., vs., cf., Fig.) or one that introduces a
//   number (No., p., pp., vol., ch., sec.) when a digit follows;
//   behind a single capital letter (an initial) and inside abbreviations of letters (U.S.), except that "U.S." and its
//   like end one before a word that usually begins a sentence (The, In, It, ...);
//   inside a number, a name of a file or an address (no white space follows).
// Sentences inside a quotation are sentences of their own; ':' and ';' end none. Views into `paragraph`. O(bytes).
std::vector<std::string_view> split_sentences(std::string_view paragraph);

// Those of all paragraphs of a document, whose views they are.
std::vector<std::string_view> sentences_of(const ProseDocument& document);

struct ProseWord {
  std::string text;       // in lower case
  std::size_t begin = 0;  // byte range in the sentence
  std::size_t end = 0;
};

// The words of a sentence as BERT's pre-tokenizer splits them (white space apart, every punctuation character a word of
// its own, every CJK ideograph too), in lower case. Accents stay. Punctuation is what BERT takes for it: ASCII that is
// neither letter nor digit, and the punctuation of Unicode. Bytes that are not UTF-8 are an assertion: read_prose
// checked them. O(bytes).
std::vector<ProseWord> split_words(std::string_view sentence);
// The same into a vector whose memory is used again.
void split_words(std::string_view sentence, std::vector<ProseWord>& words);

}  // namespace attnflow

#endif  // ATTNFLOW_TRAINING_AGREEMENT_PROSE_H_
