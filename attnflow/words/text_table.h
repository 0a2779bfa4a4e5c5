// Tables of texts, on a terminal and in Markdown; internal.
//
// Example:
//
//     TextTable table{{{"method", Align::kLeft}, {"layer 1"}, {"layer 2"}}};
//     table.rows.push_back({"rollout", "0.12", "0.34"});
//     std::fputs(terminal_text(table, 80).c_str(), stdout);  // or markdown_text(table)
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow::internal {

// Escapes Markdown: the text yields no emphasis, link, HTML, formula or end of a table cell.
std::string markdown_escaped(std::string_view text);
// Likewise at the start of a line, where "- x" and "1. x" would begin a list.
std::string markdown_escaped_line(std::string_view text);

enum class Align { kLeft, kRight };

struct TextColumn {
  std::string title;
  Align align = Align::kRight;
};

struct TextTable {
  std::vector<TextColumn> columns;
  std::vector<std::vector<std::string>> rows = {};  // clean texts (clean_line), at least one for each column
};

// Columns as wide as their texts, two spaces apart. Those that do not fit into `width` follow below, next to the first
// column again. Without titles there is no line of them. Texts without a column are left out, as in Markdown.
std::string terminal_text(const TextTable& table, std::size_t width = std::numeric_limits<std::size_t>::max());

// A table of GitHub's Markdown; texts are escaped.
std::string markdown_text(const TextTable& table);

}  // namespace attnflow::internal
