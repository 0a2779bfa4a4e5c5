// Lines of text that the tables of a report are made of; not part of the library's interface.
#pragma once

#include <string>
#include <string_view>

#include "attnflow/report/report_table.h"

namespace attnflow::internal {

// Text that Markdown shows as it is: no emphasis, link, html, formula or end of a table cell comes out of it.
std::string markdown_escaped(std::string_view text);
// The same at the start of a line, where "- x" and "1. x" would begin a list.
std::string markdown_escaped_line(std::string_view text);

// The tables of a generation: a line for each generated token.
std::string generation_terminal_table(const Report& report, const TableOptions& options);
std::string generation_markdown_table(const Report& report);

}  // namespace attnflow::internal
