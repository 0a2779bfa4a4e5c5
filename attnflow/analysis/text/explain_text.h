// The facade: a text, a model and options in, a report out.
//
// A model or an array (explain/explain_attention.h) gives an AttentionStack or its fused matrices; all else ignores the
// source: `explain --attention` on a dump of a model's attention gives the same numbers as the model, to the bit.
#pragma once

#include <optional>
#include <string>

#include "attnflow/explain/explain_options.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

// Runs the model on the text and any pair; with settings.mixing of gradients a second time, forward and back. For an
// encoder-decoder the text is the source, and options.target_text what its decoder is given, unless the tokenizer has
// read both (Encoding::source). Throws Error(kUsage) for text without tokens, options out of range, or a target text
// that is missing or has no decoder to read it; Error(kBadFile) for a tokenizer that does not fit the model;
// Error(kInputTooLong); Error(kUnsupportedModel) for gradients of a model that has none, or settings that need one
// stack of layers.
Report explain_text(TextModel& model, const TextCodec& tokenizer, const std::string& text,
                    const std::optional<std::string>& pair, const ExplainOptions& given);

}  // namespace attnflow
