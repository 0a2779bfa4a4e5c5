#include "attnflow/analysis/evaluate/paragraph.h"

#include <algorithm>

#include "attnflow/unicode/display_width.h"

namespace attnflow {

std::string paragraph(std::string_view text, std::size_t width) {
  std::string result;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(text.size(), space + 1));
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      result += line + '\n';
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  return result + line + '\n';
}

}  // namespace attnflow
