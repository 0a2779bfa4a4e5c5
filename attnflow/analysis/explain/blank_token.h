// The token that stands in for one that is blanked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/model/model.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

struct BlankToken {
  std::int64_t id = 0;
  std::string piece;
};

// `asked`: unk, mask, pad, or auto: unk, else mask, else of decoders, which often have neither, what pads or ends a
// text. Throws Error(kUsage) when the tokenizer has no such token, or pad is asked for of a model of the RoBERTa
// family, whose positions it would move.
BlankToken find_blank_token(const TextCodec& tokenizer, const ModelInfo& info, const std::string& asked = "auto");

// For "auto"; nothing where the tokenizer has no such token.
std::optional<BlankToken> try_find_blank_token(const TextCodec& tokenizer, const ModelInfo& info);

// The input with another token at these positions.
TextInput blank_tokens(TextInput input, const std::vector<std::size_t>& positions, std::int64_t blank);

}  // namespace attnflow
