#include "attnflow/analysis/explain/text_input.h"

#include <fmt/format.h>

#include "attnflow/base/error.h"

namespace attnflow {

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
  throw Error(ErrorKind::kBadFile,
              fmt::format("{}: expected token numbers below {} (the model's vocabulary), found numbers up to {}; the "
                          "tokenizer belongs to another model",
                          codec.source(), info.vocabulary, codec.id_limit() - 1));
}

}  // namespace attnflow
