// Any bytes in a message: what a terminal would obey, and what is no text, can be read and does nothing.
//
// Messages quote arguments, names of files and what stands in them. clean_line (display_width.h) replaces such
// characters in what is shown as text; here they stay readable, each byte as \xNN: control characters, line and
// paragraph separators, bidirectional controls, and bytes that are not UTF-8.
#ifndef ATTNFLOW_UNICODE_ESCAPE_TEXT_H_
#define ATTNFLOW_UNICODE_ESCAPE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace attnflow {

// Appends the character at text[at] to `out`, and moves `at` behind it. at < text.size().
void append_escaped(std::string& out, std::string_view text, std::size_t& at);

// All of the text. The bytes of `kept`, such as "\n", stay as they are.
std::string escape_text(std::string_view text, std::string_view kept = {});

}  // namespace attnflow

#endif  // ATTNFLOW_UNICODE_ESCAPE_TEXT_H_
