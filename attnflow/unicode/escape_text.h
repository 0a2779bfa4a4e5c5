// Shows arbitrary bytes in a message such that terminal controls and invalid text are readable and harmless.
//
// clean_line (display_width.h) replaces special characters when text is displayed. Messages quote arguments, file names
// and file contents; here each byte of these is written as \xNN: control characters, line and paragraph separators,
// bidirectional controls, and bytes that are not UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attnflow {

// Appends the character at text[at] to `out`, and advances `at` past it. at < text.size().
void append_escaped(std::string& out, std::string_view text, std::size_t& at);

// Escapes the whole text. Bytes in `kept`, such as "\n", stay as they are.
std::string escape_text(std::string_view text, std::string_view kept = {});

}  // namespace attnflow
