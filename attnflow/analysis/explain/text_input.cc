#include "attnflow/analysis/explain/text_input.h"

#include "attnflow/base/format_error.h"

namespace attnflow {

Encoding encode_text(const TextCodec& codec, const ModelInfo& info, const std::string& text,
                     const std::optional<std::string>& pair, bool truncate) {
  EncodeOptions options;
  if (truncate) options.max_tokens = info.max_tokens;
  return codec.encode(text, pair, options);
}

TextInput text_input(const Encoding& encoding) {
  TextInput input;
  for (const EncodedToken& token : encoding.tokens) {
    input.ids.push_back(token.id);
    input.type_ids.push_back(token.type_id);
  }
  return input;
}

std::vector<InputToken> report_tokens(const Encoding& encoding) {
  std::vector<InputToken> tokens;
  tokens.reserve(encoding.tokens.size());
  for (const EncodedToken& token : encoding.tokens) {
    tokens.push_back({token.text, token.begin, token.end, token.special, token.word, token.segment, false});
  }
  return tokens;
}

void check_vocabulary(const TextCodec& codec, const ModelInfo& info) {
  if (codec.id_limit() <= info.vocabulary) return;
  throw internal::file_error(
      "{}: expected token numbers below {} (the model's vocabulary), found numbers up to {}; the tokenizer belongs to "
      "another model",
      codec.source(), info.vocabulary, codec.id_limit() - 1);
}

}  // namespace attnflow
