// Server-sent events (HTML Living Standard, section 9.2): what an answer that arrives in parts is written as.
#ifndef ATTNFLOW_SERVE_EVENT_STREAM_H_
#define ATTNFLOW_SERVE_EVENT_STREAM_H_

#include <string>
#include <string_view>

namespace attnflow {

// "event: NAME", a "data:" line for each line of `data` and an empty line. Readers put the lines of data together again
// with a line feed between them; carriage returns would end lines too, so JSON (which escapes them) is what data is.
// A line feed at the end of `data` is dropped. `name` holds no line break.
std::string sse_event(std::string_view name, std::string_view data);

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_EVENT_STREAM_H_
