#include "attnflow/analysis/text/text_input.h"

#include <algorithm>
#include <utility>

#include "attnflow/attribution/note.h"
#include "attnflow/base/format_error.h"

namespace attnflow {

Encoding encode_text(const TextCodec& codec, const ModelInfo& info, const std::string& text,
                     const std::optional<std::string>& pair, bool truncate) {
  EncodeOptions options;
  if (truncate) options.max_tokens = info.max_tokens;
  return codec.encode(text, pair, options);
}

Encoding encode_joint(const TextCodec& codec, const ModelInfo& info, const std::string& source,
                      const std::string& target, bool truncate) {
  Encoding encoding = encode_text(codec, info, source, std::nullopt, truncate);
  std::vector<EncodedToken>& tokens = encoding.tokens;
  encoding.source = tokens.size();
  std::size_t words = 0;
  for (const EncodedToken& token : tokens) words = std::max(words, token.word ? *token.word + 1 : 0);
  for (const std::int64_t id : info.target->begin) {
    EncodedToken& first = tokens.emplace_back();
    first.id = id;
    first.text = codec.spelled(id);
    first.special = codec.is_special(id);
    first.segment = 1;
  }
  for (EncodedToken& token : codec.encode_target(target).tokens) {
    if (!token.begin) continue;  // added by the template
    token.segment = 1;
    if (token.word) *token.word += words;
    tokens.push_back(std::move(token));
  }
  return encoding;
}

TextInput text_input(const Encoding& encoding) {
  TextInput input;
  input.source = encoding.source;
  for (const EncodedToken& token : encoding.tokens) {
    input.ids.push_back(token.id);
    input.type_ids.push_back(token.type_id);
  }
  return input;
}

AttentionMask attention_mask(const ModelInfo& info, std::size_t source) {
  return info.target ? AttentionMask::joint(source, info.target->encoder_layers) : AttentionMask(info.causal);
}

std::vector<InputToken> report_tokens(const Encoding& encoding) {
  std::vector<InputToken> tokens;
  tokens.reserve(encoding.tokens.size());
  for (const EncodedToken& token : encoding.tokens) {
    tokens.push_back({token.text, token.begin, token.end, token.special, token.word, token.segment, false});
  }
  return tokens;
}

void note_joint_layers(Report& report, const ModelInfo& info) {
  if (!info.target) return;
  const std::vector<InputToken>& tokens = report.input.tokens;
  const auto source = std::ranges::count_if(tokens, [](const InputToken& token) { return token.segment == 0; });
  report.notes.push_back({NoteCode::kJointLayers,
                          {{"source_tokens", static_cast<std::size_t>(source)},
                           {"encoder_layers", info.target->encoder_layers},
                           {"decoder_layers", info.target->decoder_layers}}});
}

void check_vocabulary(const TextCodec& codec, const ModelInfo& info) {
  if (codec.id_limit() <= info.vocabulary) return;
  throw internal::file_error(
      "{}: expected token numbers below {} (the model's vocabulary), found numbers up to {}; the tokenizer belongs to "
      "another model",
      codec.source(), info.vocabulary, codec.id_limit() - 1);
}

}  // namespace attnflow
