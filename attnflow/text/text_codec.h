// Conversion between text and token ids, whether by a Hugging Face tokenizer or by the one inside a GGUF file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow {

// One token of the model's input.
//
// Byte ranges point into the text as the user wrote it, regardless of normalization, and are meant for display: they
// hold whole characters (all byte-level pieces of one emoji have its range), no white space at their ends (except for a
// piece of only white space), and the accents, vowel marks and joiners that normalization dropped after a character. So
// ranges may overlap, and adjacent tokens need not touch.
//
// A word is a part of the text that the tokenizer's pre-tokenizer does not split further and that has no white space
// inside; punctuation marks are separate words where the pre-tokenizer splits them off. The [UNK] of an unknown word is
// a token of the text and not special.
struct EncodedToken {
  std::int64_t id = 0;
  std::string text;                  // the piece as the vocabulary spells it
  std::optional<std::size_t> begin;  // byte range in the segment's text; absent for tokens added by the template
  std::optional<std::size_t> end;
  bool special = false;             // added by the template, or a special token of the tokenizer ([MASK], ...)
  std::optional<std::size_t> word;  // word number, increasing over both segments; absent for template tokens
  std::size_t segment = 0;          // 0, or 1 for the pair; template tokens belong to the text before them
  std::int64_t type_id = 0;         // token type (segment embedding) as the template gives it
};

struct Encoding {
  std::vector<EncodedToken> tokens;
  bool truncated = false;
  bool has_places = true;  // false: only pieces are known, without their place in the text and without words
  std::size_t source = 0;  // for an encoder-decoder: the source's tokens, which the target's follow
};

struct EncodeOptions {
  std::optional<std::size_t> max_tokens;  // longer input is truncated (longest segment first), keeping special tokens
};

struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"
  std::string text;
};

class TextCodec {
 public:
  virtual ~TextCodec() = default;

  // Throws Error(kUsage) on invalid UTF-8 (naming the byte offset) in either text, when max_tokens leaves no room for
  // the template, or for a pair if the tokenizer does not support pairs. Safe to call from several threads at once.
  virtual Encoding encode(std::string_view text, const std::optional<std::string>& pair = std::nullopt,
                          const EncodeOptions& options = {}) const = 0;

  // Encodes what an encoder-decoder's decoder writes, which a few tokenizers cut by another model (Marian). Otherwise
  // as encode().
  virtual Encoding encode_target(std::string_view text) const { return encode(text); }

  // One more than the largest id in use.
  virtual std::size_t id_limit() const = 0;
  // Returns the ids of `word` as it would appear inside a sentence after a space, without template tokens.
  virtual std::vector<std::int64_t> word_to_ids(std::string_view word) const = 0;
  // Always nothing for codecs without a table of pieces, such as that of a GGUF file.
  virtual std::optional<std::int64_t> token_to_id(std::string_view /*piece*/) const { return std::nullopt; }
  virtual std::optional<std::int64_t> mask_id() const = 0;
  // The tokens that stand for what is unknown, for nothing at all and for the end; by default those with the usual
  // names.
  virtual std::optional<std::int64_t> unknown_id() const { return first_of({"[UNK]", "<unk>"}); }
  virtual std::optional<std::int64_t> padding_id() const { return first_of({"[PAD]", "<pad>", "<|pad|>"}); }
  virtual std::optional<std::int64_t> end_id() const {
    return first_of({"<|endoftext|>", "<|end_of_text|>", "<eos>", "</s>"});
  }
  // Returns the piece as the vocabulary spells it ("##ets"); "<id 123>" for an id without a piece.
  virtual std::string spelled(std::int64_t id) const = 0;
  // Returns the readable text of one piece: "##ets" -> "ets"; byte-level pieces are decoded to UTF-8 where they are
  // whole characters and shown as \xF0 where not. "<id 123>" for an id without a piece.
  virtual std::string readable(std::int64_t id) const = 0;
  // Returns the bytes that a token appends to running text, leading space included; they need not be whole characters.
  // Special tokens (end of text, chat roles) append none.
  virtual std::string bytes(std::int64_t id) const = 0;
  virtual bool is_special(std::int64_t id) const = 0;
  virtual bool is_end(std::int64_t id) const = 0;
  // Formats the conversation as input for encode(), up to where the answer begins. Throws Error(kUnsupportedModel) when
  // the model has no chat template, or an unknown one.
  virtual std::string chat(const std::vector<ChatMessage>& messages) const = 0;
  virtual std::string source() const = 0;

 protected:
  std::optional<std::int64_t> first_of(std::initializer_list<std::string_view> pieces) const {
    for (const std::string_view piece : pieces) {
      if (const auto id = token_to_id(piece)) return id;
    }
    return std::nullopt;
  }
};

}  // namespace attnflow
