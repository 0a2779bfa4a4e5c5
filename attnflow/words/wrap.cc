#include "attnflow/words/wrap.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "attnflow/unicode/display_width.h"

namespace attnflow::internal {
namespace {

// Isolates a word's right-to-left part, without the quotes and commas around it, which belong to the sentence.
void isolate(std::string& word) {
  if (!runs_right_to_left(word)) return;
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  const auto last = std::find_if_not(word.rbegin(), word.rend(), is_ascii).base();
  const auto first = std::find_if_not(word.begin(), last, is_ascii);
  word = std::string(word.begin(), first) + isolated(std::string(first, last)) + std::string(last, word.end());
}

}  // namespace

std::string with_ascii_marks(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kMarks = {
      {{"\u201c", "\""}, {"\u201d", "\""}, {"\u2019", "'"}, {"\u2212", "-"}, {"\u00b1", "+-"}, {"\u2026", "..."}}};
  for (const auto& [mark, plain] : kMarks) {
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += plain.size()) {
      text.replace(at, mark.size(), plain);
    }
  }
  return text;
}

std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width, const WrapStyle& style) {
  std::vector<std::string> lines;
  std::string line;
  bool fresh = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string word = shorten(text.substr(at, end - at), width - style.indent.size(), style.ellipsis);
    at = end + 1;
    isolate(word);
    if (!fresh && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(line);
      line = style.indent;
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += word;
    fresh = false;
  }
  lines.push_back(line);
  return lines;
}

std::string paragraph(std::string_view text, std::size_t width) {
  std::string result;
  for (const std::string& line : wrapped_lines(text, width, {.indent = ""})) result += line + '\n';
  return result;
}

}  // namespace attnflow::internal
