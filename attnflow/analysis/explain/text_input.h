#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

// Encodes a text and any pair; `truncate`: cut to the model's positions.
Encoding encode_text(const TextCodec& codec, const ModelInfo& info, const std::string& text,
                     const std::optional<std::string>& pair, bool truncate);

TextInput text_input(const Encoding& encoding);

std::vector<InputToken> report_tokens(const Encoding& encoding);

// Throws Error(kBadFile) when the tokenizer gives ids that the model has no embedding for.
void check_vocabulary(const TextCodec& codec, const ModelInfo& info);

}  // namespace attnflow
