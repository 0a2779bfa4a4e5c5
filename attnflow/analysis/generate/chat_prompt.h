// A conversation in a model's chat template, and the parts that the template wrote.
//
// Templates are programs, so they are run, not parsed: with our text in place of a turn's, the rest is the template's
// own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/text/text_codec.h"

namespace attnflow {

// Bytes of a text: [begin, end).
struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct ChatPrompt {
  std::string text;               // what the model is given
  std::vector<TextSpan> written;  // where in it the turns' texts stand, in order; empty: nowhere, or not known
};

// The user's turn, after any system turn. Throws Error(kUnsupportedModel) if the template is missing or refuses.
ChatPrompt chat_prompt(const TextCodec& codec, const std::optional<std::string>& system, const std::string& user);

// The system text that the model's template writes when the conversation has none; "" for a turn with only what every
// system turn contains (such as a date); nothing if it writes none or refuses. Compares one text with a system turn of
// ours and one without: where both are the same around that place, its content without ours is the template's own.
std::optional<std::string> own_system_turn(const TextCodec& codec, std::string_view prompt);

}  // namespace attnflow
