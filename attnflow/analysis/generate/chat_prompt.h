// What a chat template writes besides the conversation that it is given.
#ifndef ATTNFLOW_ANALYSIS_GENERATE_CHAT_PROMPT_H_
#define ATTNFLOW_ANALYSIS_GENERATE_CHAT_PROMPT_H_

#include <optional>
#include <string>
#include <string_view>

#include "attnflow/text/text_codec.h"

namespace attnflow {

// The text of the system's turn that the model's template writes when the conversation has none; "" for a turn in which
// stands only what stands in every system's turn (a date, say); nothing where it writes none, or cannot be asked.
//
// Templates are programs, so they are not read but tried: one text with a system's turn of ours, one without. Where
// both are the same around that place, what stands in it without ours is the template's own.
std::optional<std::string> own_system_turn(const TextCodec& codec, std::string_view prompt);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_GENERATE_CHAT_PROMPT_H_
