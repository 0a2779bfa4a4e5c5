// Lines of text for a report's tables; internal.
#pragma once

#include <string>
#include <string_view>

#include "attnflow/report/report_table.h"

namespace attnflow::internal {

// Escapes Markdown: the text yields no emphasis, link, HTML, formula or end of a table cell.
std::string markdown_escaped(std::string_view text);
// Likewise at the start of a line, where "- x" and "1. x" would begin a list.
std::string markdown_escaped_line(std::string_view text);

std::string generation_terminal_table(const Report& report, const TableOptions& options);
std::string generation_markdown_table(const Report& report, OptionNames option_names);

}  // namespace attnflow::internal
