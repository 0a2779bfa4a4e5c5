#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/settings.h"
#include "attnflow/model/model.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

struct BlankToken {
  std::int64_t id = 0;
  std::string piece;
};

// `asked`: unk, mask, pad, or auto: unk, else mask, else a decoder's padding or end token. Throws Error(kUsage) for a
// tokenizer without it, or for pad with a model of the RoBERTa family, whose positions it would move.
BlankToken find_blank_token(const TextCodec& tokenizer, const ModelInfo& info, const std::string& asked = "auto");

// For "auto"; nothing if the tokenizer has no such token.
std::optional<BlankToken> try_find_blank_token(const TextCodec& tokenizer, const ModelInfo& info);

// A tokenizer without it is an error only if the settings ask for blank-out.
std::optional<BlankToken> blank_token_for(const Settings& settings, const TextCodec& tokenizer, const ModelInfo& info);

TextInput blank_tokens(TextInput input, const std::vector<std::size_t>& positions, std::int64_t blank);

}  // namespace attnflow
