// The tokenizer in a GGUF file.
//
// libllama splits and joins text; this class locates tokens in the text and finds the words that they form (pieces.h).
// Special tokens that are spelled out in the text, such as <|im_start|>, are encoded as those tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/model/llama/weights.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

class LlamaCodec : public TextCodec {
 public:
  // Keeps a reference to `weights`.
  explicit LlamaCodec(const LlamaWeights& weights);

  Encoding encode(std::string_view text, const std::optional<std::string>& pair = std::nullopt,
                  const EncodeOptions& options = {}) const override;
  std::size_t id_limit() const override;
  std::vector<std::int64_t> word_to_ids(std::string_view word) const override;
  std::optional<std::int64_t> mask_id() const override { return std::nullopt; }
  std::string spelled(std::int64_t id) const override;
  std::string readable(std::int64_t id) const override;
  std::string bytes(std::int64_t id) const override;
  bool is_special(std::int64_t id) const override;
  bool is_end(std::int64_t id) const override;
  std::string chat(const std::vector<ChatMessage>& messages) const override;
  std::string source() const override { return weights_.source; }

 private:
  enum class Template { kWithout, kWith };    // tokens around the text
  enum class Specials { kHidden, kWritten };  // in the text of a piece

  bool has(std::int64_t id) const;
  std::vector<llama_token> tokenize(std::string_view text, Template with) const;
  std::string piece(llama_token id, Specials specials) const;

  const LlamaWeights& weights_;
  const llama_vocab* vocabulary_;
};

}  // namespace attnflow
