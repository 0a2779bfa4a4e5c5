#include "attnflow/unicode/escape_text.h"

#include "attnflow/unicode/display_width.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {

void append_escaped(std::string& out, std::string_view text, std::size_t& at) {
  const std::size_t start = at;
  const bool is_text = next_code_point(text, at).has_value();
  const std::string_view character = text.substr(start, at - start);
  if (is_text && clean_line(character) == character) {
    out += character;
    return;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : character) {
    const auto byte = static_cast<unsigned char>(c);
    out += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
}

std::string escape_text(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (kept.find(text[at]) != std::string_view::npos) {
      out += text[at++];
    } else {
      append_escaped(out, text, at);
    }
  }
  return out;
}

}  // namespace attnflow
