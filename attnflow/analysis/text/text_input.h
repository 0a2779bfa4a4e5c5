#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/graph/attention_mask.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

// Encodes a text and any pair; `truncate`: cut to the model's positions.
Encoding encode_text(const TextCodec& codec, const ModelInfo& info, const std::string& text,
                     const std::optional<std::string>& pair, bool truncate);

// Encodes the two texts of an encoder-decoder: the source, then the tokens that a target begins with (TargetInfo), and
// the target's text without the tokens that the tokenizer's template puts around it. `truncate`: cut the source.
Encoding encode_joint(const TextCodec& codec, const ModelInfo& info, const std::string& source,
                      const std::string& target, bool truncate);

TextInput text_input(const Encoding& encoding);

// The mask of the model's graph, for a text of which the first `source` tokens are an encoder-decoder's source.
AttentionMask attention_mask(const ModelInfo& info, std::size_t source);

std::vector<InputToken> report_tokens(const Encoding& encoding);

// For an encoder-decoder, adds the note on its layers and on the source's tokens (or words, once they are merged).
void note_joint_layers(Report& report, const ModelInfo& info);

// Throws Error(kBadFile) when the tokenizer gives ids that the model has no embedding for.
void check_vocabulary(const TextCodec& codec, const ModelInfo& info);

}  // namespace attnflow
