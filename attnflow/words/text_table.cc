#include "attnflow/words/text_table.h"

#include <algorithm>
#include <span>

#include "attnflow/unicode/display_width.h"
#include "attnflow/words/wrap.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kColumnGap = 2;

std::string aligned(const std::string& text, std::size_t cells, Align align) {
  const std::string space(cells - display_width(text), ' ');
  return align == Align::kLeft ? text + space : space + text;
}

std::vector<std::string> titles_of(const TextTable& table) {
  std::vector<std::string> titles;
  for (const TextColumn& column : table.columns) titles.push_back(column.title);
  return titles;
}

std::string markdown_row(std::span<const std::string> texts) {
  std::string row = "|";
  for (const std::string& text : texts) row += (text.empty() ? "" : " " + markdown_escaped(text)) + " |";
  return row + '\n';
}

}  // namespace

std::string markdown_escaped(std::string_view text) {
  constexpr std::string_view kMeaningful = "\\`*_[]<>|~&$#!@";
  std::string out;
  for (const char c : clean_line(text)) {
    if (kMeaningful.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_escaped_line(std::string_view text) {
  std::string line = markdown_escaped(text);
  const std::size_t number = line.find_first_not_of("0123456789");
  if (number == std::string::npos) return line;
  const bool list =
      number == 0 ? line[0] == '-' || line[0] == '+' || line[0] == '=' : line[number] == '.' || line[number] == ')';
  return list ? line.insert(number, "\\") : line;
}

std::string terminal_text(const TextTable& table, std::size_t width) {
  std::vector<std::vector<std::string>> lines = table.rows;
  std::vector<std::string> titles = titles_of(table);
  const bool titled = std::any_of(titles.begin(), titles.end(), [](const auto& title) { return !title.empty(); });
  if (titled) lines.insert(lines.begin(), std::move(titles));
  std::vector<std::size_t> cells(table.columns.size(), 0);
  for (const std::vector<std::string>& line : lines) {
    for (std::size_t c = 0; c < cells.size(); ++c) cells[c] = std::max(cells[c], display_width(line[c]));
  }
  std::string text;
  for (std::size_t begin = 1; begin < cells.size();) {
    std::size_t end = begin;
    for (std::size_t used = cells[0]; end < cells.size(); ++end) {
      used += kColumnGap + cells[end];
      if (end > begin && used > width) break;
    }
    for (const std::vector<std::string>& texts : lines) {
      std::string line = aligned(texts[0], cells[0], table.columns[0].align);
      for (std::size_t c = begin; c < end; ++c) {
        line += std::string(kColumnGap, ' ') + aligned(texts[c], cells[c], table.columns[c].align);
      }
      text += without_trailing_spaces(std::move(line)) + '\n';
    }
    begin = end;
  }
  return text;
}

std::string markdown_text(const TextTable& table) {
  std::string rule = "|";
  for (const TextColumn& column : table.columns) rule += column.align == Align::kLeft ? " --- |" : " ---: |";
  std::string text = markdown_row(titles_of(table)) + rule + '\n';
  for (const std::vector<std::string>& row : table.rows)
    text += markdown_row(std::span(row).first(table.columns.size()));
  return text;
}

}  // namespace attnflow::internal
