// Text to token ids and back, whatever does it: a Hugging Face tokenizer, or the one inside a GGUF file.
#ifndef ATTNFLOW_TEXT_TEXT_CODEC_H_
#define ATTNFLOW_TEXT_TEXT_CODEC_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// One turn of a conversation.
struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"
  std::string text;
};

class TextCodec {
 public:
  virtual ~TextCodec() = default;

  // Throws Error(kUsage) on invalid UTF-8 (naming the byte offset) in either text, when max_tokens has no room for
  // the template, or for a pair where the tokenizer knows none. Safe to call from several threads at once.
  virtual Encoding encode(std::string_view text, const std::optional<std::string>& pair = std::nullopt,
                          const EncodeOptions& options = {}) const = 0;

  // One more than the largest id in use.
  virtual std::size_t id_limit() const = 0;
  // Ids of `word` as it would stand inside a sentence after a space, without template tokens.
  virtual std::vector<std::int64_t> word_to_ids(std::string_view word) const = 0;
  // The id of a piece that the vocabulary spells so. None where the codec has no table of pieces to ask, as that of a
  // GGUF file has not.
  virtual std::optional<std::int64_t> token_to_id(std::string_view /*piece*/) const { return std::nullopt; }
  // The id of the mask token, if there is one.
  virtual std::optional<std::int64_t> mask_id() const = 0;
  // The piece as the vocabulary spells it ("##ets"), as in EncodedToken::text. An id without a piece gives "<id 123>".
  virtual std::string spelled(std::int64_t id) const = 0;
  // Text of one piece for people: "##ets" -> "ets", byte-level pieces decoded to UTF-8 where they are whole characters
  // and shown as \xF0 where not. An id without a piece gives "<id 123>".
  virtual std::string readable(std::int64_t id) const = 0;
  // The bytes that a token adds to a running text, leading space included; they need not be whole characters. Special
  // tokens (ends, roles of a chat) add none.
  virtual std::string bytes(std::int64_t id) const = 0;
  // Whether a token is one of the special ones.
  virtual bool is_special(std::int64_t id) const = 0;
  // Whether generation ends with this token.
  virtual bool is_end(std::int64_t id) const = 0;
  // The conversation as the model was trained to see it, up to where its answer begins: text for encode(), in which
  // special tokens are spelled out. Throws Error(kUnsupportedModel) when the model has no chat template, or none that
  // is known.
  virtual std::string chat(const std::vector<ChatMessage>& messages) const = 0;
  // What it was made from, for messages.
  virtual std::string source() const = 0;
};

}  // namespace attnflow

#endif  // ATTNFLOW_TEXT_TEXT_CODEC_H_
