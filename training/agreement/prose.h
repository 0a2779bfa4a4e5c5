// Reads English prose from text files: documents, sentences, words.
//
// A document is one UTF-8 text file, and each line a paragraph. A sentence is a byte range of a paragraph, and a word
// one of a sentence, so that any piece of text can be shown as its author wrote it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow {

struct ProseDocument {
  std::string name;                     // the file name without its extension; unique among the documents read together
  std::uint64_t bytes = 0;              // size of the file
  std::vector<std::string> paragraphs;  // UTF-8 without line ends; excludes lines of only white space
};

// Reads text files, or for a folder every .txt file directly in it, in the order of the arguments and by name inside a
// folder. Drops a byte order mark, accepts LF, CRLF or CR, and reads NUL as a space. Throws Error(kBadFile), which
// names the file: missing or unreadable; bytes that are not UTF-8 (with their offset); two documents with one name; a
// folder without any .txt file; `paths` empty.
std::vector<ProseDocument> read_prose(const std::vector<std::filesystem::path>& paths);

// Returns the sentences of a paragraph; together they hold everything but the white space around them.
//
// A sentence ends after '.', '!', '?' or an ellipsis, and the closing quotation marks and brackets after it, if white
// space and something that can begin a sentence follow: a capital letter or a digit, or an opening quotation mark or
// bracket followed by one. '.' does not end a sentence
//   after an abbreviation that is never last (Dr., Mrs., St., e.g., i.e., vs., cf., Fig.) or one that introduces a
//   number (No., p., pp., vol., ch., sec.) when a digit follows;
//   after a single capital letter (an initial) or inside abbreviations of letters (U.S.), except that "U.S." and its
//   like end one before a word that usually begins a sentence (The, In, It, ...);
//   inside a number, a file name or an address (no white space follows).
// Sentences inside a quotation are separate; ':' and ';' do not end a sentence. The results are views into `paragraph`.
// O(bytes).
std::vector<std::string_view> split_sentences(std::string_view paragraph);

std::vector<std::string_view> sentences_of(const ProseDocument& document);

struct ProseWord {
  std::string text;       // in lower case
  std::size_t begin = 0;  // byte range in the sentence
  std::size_t end = 0;
};

// Returns the words of a sentence, split as by BERT's pre-tokenizer (at white space, with each punctuation character
// and each CJK ideograph as a separate word), in lower case. Accents stay. Punctuation is BERT's: ASCII that is neither
// letter nor digit, and Unicode punctuation. Asserts that the bytes are UTF-8, which read_prose checks. O(bytes).
std::vector<ProseWord> split_words(std::string_view sentence);
void split_words(std::string_view sentence, std::vector<ProseWord>& words);

}  // namespace attnflow
