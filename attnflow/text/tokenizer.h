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
#include "attnflow/text/text_codec.h"

namespace attnflow {

class Tokenizer : public TextCodec {
 public:
  // From a model folder: tokenizer.json when it is there; else BERT's vocab.txt, else RoBERTa's or GPT-2's vocab.json +
  // merges.txt, else SentencePiece files, with the settings of tokenizer_config.json and special_tokens_map.json.
  // `model_type` (config.json's: "bert", "gpt2", ..., or "") helps to choose defaults. Throws Error(kBadFile).
  static Tokenizer load(const Folder& folder, const std::string& model_type = "");

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer() override;

  // Truncation and padding that a tokenizer.json asks for are not applied.
  Encoding encode(std::string_view text, const std::optional<std::string>& pair = std::nullopt,
                  const EncodeOptions& options = {}) const override;

  // Number of ids including added tokens.
  std::size_t vocabulary_size() const;
  std::size_t id_limit() const override;
  std::optional<std::int64_t> token_to_id(std::string_view piece) const override;
  std::optional<std::string> id_to_token(std::int64_t id) const;
  std::vector<std::int64_t> word_to_ids(std::string_view word) const override;
  // That of "[MASK]" or "<mask>" (special_tokens).
  std::optional<std::int64_t> mask_id() const override;
  std::string spelled(std::int64_t id) const override;
  std::string readable(std::int64_t id) const override;
  // Exact where pieces carry their spaces: the bytes of an encoding's tokens, put together, are the text for byte-level
  // BPE, and the text after one space for SentencePiece (up to what the tokenizer's normalization changed). WordPiece
  // says only where a word goes on, so there every other piece, punctuation too, is taken to follow one space. An id
  // without a piece adds nothing.
  std::string bytes(std::int64_t id) const override;
  // An added token that the tokenizer marks as special, whether or not the template uses it.
  bool is_special(std::int64_t id) const override;
  // eos_token_id, a number or a list, of generation_config.json, else of config.json, else the tokenizer's eos_token.
  bool is_end(std::int64_t id) const override;
  // By the Jinja template in the folder (chat_template.h says where, and what is thrown), as apply_chat_template of
  // transformers writes it for these messages with add_generation_prompt, but for special tokens at the beginning that
  // encode() puts there itself.
  std::string chat(const std::vector<ChatMessage>& messages) const override;
  std::string source() const override;  // the file that it was built from

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace attnflow

#endif  // ATTNFLOW_TEXT_TOKENIZER_H_
