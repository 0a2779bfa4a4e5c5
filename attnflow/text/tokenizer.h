// Splits text into the tokens that the model was trained with, using the Hugging Face tokenizers crate through a C ABI.
#pragma once

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
  // Loads from a model folder: tokenizer.json if it exists; else BERT's vocab.txt, else RoBERTa's or GPT-2's vocab.json
  // + merges.txt, else SentencePiece files, with the settings of tokenizer_config.json and special_tokens_map.json.
  // `model_type` (from config.json: "bert", "gpt2", ..., or "") helps to choose defaults. Throws Error(kBadFile).
  static Tokenizer load(const Folder& folder, const std::string& model_type = "");

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer() override;

  // Truncation and padding settings in tokenizer.json are ignored.
  Encoding encode(std::string_view text, const std::optional<std::string>& pair = std::nullopt,
                  const EncodeOptions& options = {}) const override;

  // For a folder whose targets have a SentencePiece model of their own, reads it each time.
  Encoding encode_target(std::string_view text) const override;

  // Number of ids, including added tokens.
  std::size_t vocabulary_size() const;
  std::size_t id_limit() const override;
  std::optional<std::int64_t> token_to_id(std::string_view piece) const override;
  std::optional<std::string> id_to_token(std::int64_t id) const;
  std::vector<std::int64_t> word_to_ids(std::string_view word) const override;
  // The id of the token that the files name as mask_token, else of "[MASK]", else of "<mask>".
  std::optional<std::int64_t> mask_id() const override;
  std::string spelled(std::int64_t id) const override;
  std::string readable(std::int64_t id) const override;
  // Exact if pieces carry their spaces: the concatenated bytes of an encoding's tokens are the text for byte-level BPE,
  // and the text after one space for SentencePiece (up to what the tokenizer's normalization changed). WordPiece marks
  // only the continuation of a word, so every other piece, punctuation included, is assumed to follow one space. An id
  // without a piece appends nothing.
  std::string bytes(std::int64_t id) const override;
  // True for an added token that the tokenizer marks as special, whether or not the template uses it.
  bool is_special(std::int64_t id) const override;
  // Uses eos_token_id (a number or a list) of generation_config.json, else of config.json, else the tokenizer's
  // eos_token.
  bool is_end(std::int64_t id) const override;
  // Uses the Jinja template in the folder (chat_template.h documents where, and what is thrown). The result is what
  // apply_chat_template of transformers writes for these messages with add_generation_prompt, except that leading
  // special tokens which encode() adds itself are left out.
  std::string chat(const std::vector<ChatMessage>& messages) const override;
  std::string source() const override;  // the file it was built from

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  // Reads the folder's files for the texts of one side.
  static std::unique_ptr<Impl> read(const Folder& folder, const std::string& model_type, bool of_targets);
  std::unique_ptr<Impl> impl_;
};

}  // namespace attnflow
