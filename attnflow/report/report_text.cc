#include "attnflow/report/report_text.h"

#include <algorithm>

#include "attnflow/unicode/display_width.h"

namespace attnflow::internal {
namespace {

// Isolates what runs from right to left, without the quotes and commas around it, which belong to the sentence.
void isolate(std::string& word) {
  if (!runs_right_to_left(word)) return;
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  const auto last = std::find_if_not(word.rbegin(), word.rend(), is_ascii).base();
  const auto first = std::find_if_not(word.begin(), last, is_ascii);
  word =
      std::string(word.begin(), first) + "\u2068" + std::string(first, last) + "\u2069" + std::string(last, word.end());
}

}  // namespace

std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width, std::string_view ellipsis) {
  constexpr std::string_view kIndent = "  ";
  std::vector<std::string> lines;
  std::string line;
  bool fresh = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    std::string word = shorten(text.substr(at, end - at), width - kIndent.size(), ellipsis);
    at = end + 1;
    isolate(word);
    if (!fresh && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(line);
      line = kIndent;
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += word;
    fresh = false;
  }
  lines.push_back(line);
  return lines;
}

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

}  // namespace attnflow::internal
