// A conversation in a model's chat template, and what of it the template wrote.
//
// Templates are programs, so they are not read but tried: with a text of ours in place of a turn's, what stands before
// and behind it is the template's own.
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

// The user's turn, after the system's where there is one. Throws Error(kUnsupportedModel) where the model has no
// template, or its template refuses.
ChatPrompt chat_prompt(const TextCodec& codec, const std::optional<std::string>& system, const std::string& user);

// The text of the system's turn that the model's template writes when the conversation has none; "" for a turn in which
// stands only what stands in every system's turn (a date, say); nothing where it writes none, or cannot be asked.
// One text with a system's turn of ours, one without: where both are the same around that place, what stands in it
// without ours is the template's own.
std::optional<std::string> own_system_turn(const TextCodec& codec, std::string_view prompt);

}  // namespace attnflow
