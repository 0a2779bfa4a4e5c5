#include "attnflow/attribution/option_names.h"

#include <cstddef>
#include <string_view>

namespace attnflow {
namespace {

bool is_small_letter(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] >= 'a' && text[at] <= 'z';
}

bool continues_word(std::string_view text, std::size_t at) {
  if (at >= text.size()) return false;
  const char c = text[at];
  return is_small_letter(text, at) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
}

// Returns the end of the quotation that begins at `at`, else `at`. A quote before a word character ("it's") is no end.
std::size_t behind_quotation(std::string_view text, std::size_t at) {
  const char quote = text[at];
  if (quote != '\'' && quote != '"') return at;
  if (at > 0 && text[at - 1] != ' ' && text[at - 1] != '(') return at;
  for (std::size_t end = at + 1; end < text.size(); ++end) {
    if (text[end] == quote && !continues_word(text, end + 1)) return end + 1;
  }
  return at;
}

}  // namespace

std::string with_field_names(const std::string& message) {
  std::string result;
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (const std::size_t behind = behind_quotation(message, i); behind > i) {
      result.append(message, i, behind - i);
      i = behind - 1;
      continue;
    }
    const bool begins = i == 0 || message[i - 1] == ' ' || message[i - 1] == '(';
    if (begins && message.compare(i, 2, "--") == 0 && is_small_letter(message, i + 2)) {
      std::size_t end = i + 2;
      while (is_small_letter(message, end) ||
             (end < message.size() && message[end] == '-' && is_small_letter(message, end + 1))) {
        result += message[end] == '-' ? '_' : message[end];
        ++end;
      }
      i = end - 1;
      continue;
    }
    if (i == 0 && message.starts_with("-n:")) {
      result += "tokens";
      i = 1;
      continue;
    }
    result += message[i];
  }
  return result;
}

}  // namespace attnflow
