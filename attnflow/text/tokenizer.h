// Text to tokens, as the model was trained with: the Hugging Face tokenizers crate behind a C ABI.
#ifndef ATTNFLOW_TEXT_TOKENIZER_H_
#define ATTNFLOW_TEXT_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow {

struct EncodedToken {
  std::int64_t id = 0;
  std::string text;                  // the piece as the vocabulary spells it
  std::optional<std::size_t> begin;  // byte range in the segment's text; absent for tokens added by the template
  std::optional<std::size_t> end;
  bool special = false;             // added by the template, or one of the tokenizer's special tokens ([MASK], ...)
  std::optional<std::size_t> word;  // word number, increasing over both segments; absent for template tokens
  std::size_t segment = 0;          // 0, or 1 for the pair
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
  static Tokenizer load(const std::filesystem::path& folder, const std::string& model_type = "");

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Throws Error(kUsage) on invalid UTF-8 (naming the byte offset) in either text.
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
  // Text of one piece for people: "##ets" -> "ets", byte-level pieces decoded to UTF-8 where they are whole characters.
  std::string readable(std::int64_t id) const;
  std::string source() const;  // the file that it was built from, for messages

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace attnflow

#endif  // ATTNFLOW_TEXT_TOKENIZER_H_
