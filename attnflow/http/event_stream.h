// Formats server-sent events (HTML Living Standard, section 9.2), for responses that arrive in parts.
#pragma once

#include <string>
#include <string_view>

namespace attnflow {

// Returns "event: NAME", a "data:" line for each line of `data`, and an empty line. Readers rejoin the data lines with
// line feeds. Carriage returns would also end lines, so `data` should be JSON, which escapes them; its trailing line
// feed is dropped. `name` contains no line break.
std::string sse_event(std::string_view name, std::string_view data);

}  // namespace attnflow
