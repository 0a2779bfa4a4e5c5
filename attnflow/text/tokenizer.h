// Text to tokens, as the model was trained with: the Hugging Face tokenizers crate behind a C ABI.
#ifndef ATTNFLOW_TEXT_TOKENIZER_H_
#define ATTNFLOW_TEXT_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/folder.h"

namespace attnflow {

// One token of the model's input.
//
// Byte ranges point into the text as the user wrote it, whatever normalization did to it, and are made for reading:
// they hold whole characters (several byte-level pieces of one emoji all have its range), no white space at their ends
// (but a piece that is only white space has it), and the accents, vowel marks and joiners that normalization dropped
// behind a character. So ranges may overlap, and neighbours need not touch.
//
// A word is a piece of the text that the tokenizer's pre-tokenizer does not split further, and that has no white space
// inside; punctuation marks are words of their own where the pre-tokenizer says so. An unknown word's [UNK] is a token
// of the text and not special.
struct EncodedToken {
  std::int64_t id = 0;
  std::string text;                  // the piece as the vocabulary spells it
  std::optional<std::size_t> begin;  // byte range in the segment's text; absent for tokens added by the template
  std::optional<std::size_t> end;
  bool special = false;             // added by the template, or one of the tokenizer's special tokens ([MASK], ...)
  std::optional<std::size_t> word;  // word number, increasing over both segments; absent for template tokens
  std::size_t segment = 0;          // 0, or 1 for the pair; template tokens belong to the text before them
  std::int64_t type_id = 0;         // token type (segment embedding) as the template gives it
};

struct Encoding {
  std::vector<EncodedToken> tokens;
  bool truncated = false;
};

struct EncodeOptions {
  std::optional<std::size_t> max_tokens;  // longer input is cut (longest segment first), specials kept
};

class Tokenizer {
 public:
  // From a model folder: tokenizer.json when it is there; else BERT's vocab.txt, else RoBERTa's vocab.json +
  // merges.txt, with the settings of tokenizer_config.json and special_tokens_map.json. `model_type` ("bert",
  // "roberta", "albert", "distilbert", or "") helps to choose defaults. Throws Error(kBadFile).
  static Tokenizer load(const Folder& folder, const std::string& model_type = "");

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Throws Error(kUsage) on invalid UTF-8 (naming the byte offset) in either text, or when max_tokens has no room for
  // the template. Truncation and padding that a tokenizer.json asks for are not applied. Safe to call from several
  // threads at once.
  Encoding encode(std::string_view text, const std::optional<std::string>& pair = std::nullopt,
                  const EncodeOptions& options = {}) const;

  // Number of ids including added tokens.
  std::size_t vocabulary_size() const;
  // One more than the largest id in use.
  std::size_t id_limit() const;
  std::optional<std::int64_t> token_to_id(std::string_view piece) const;
  std::optional<std::string> id_to_token(std::int64_t id) const;
  // Ids of `word` as it would stand inside a sentence after a space, without template tokens.
  std::vector<std::int64_t> word_to_ids(std::string_view word) const;
  // The id of "[MASK]" or "<mask>" (special_tokens), if the tokenizer has one.
  std::optional<std::int64_t> mask_id() const;
  // Text of one piece for people: "##ets" -> "ets", byte-level pieces decoded to UTF-8 where they are whole characters
  // and shown as <0xF0> where not. An id without a piece gives "<id 123>".
  std::string readable(std::int64_t id) const;
  std::string source() const;  // the file that it was built from, for messages

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace attnflow

#endif  // ATTNFLOW_TEXT_TOKENIZER_H_
