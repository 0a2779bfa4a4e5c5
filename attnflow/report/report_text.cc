#include "attnflow/report/report_text.h"

#include "attnflow/unicode/display_width.h"

namespace attnflow::internal {

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
