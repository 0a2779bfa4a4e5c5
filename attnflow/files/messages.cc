#include "attnflow/files/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <system_error>

#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {

std::string quote_name(std::string_view text, std::size_t max_bytes) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    if (out.size() > max_bytes) {
      out += "...";
      break;
    }
    const std::size_t start = at;
    const auto c = next_code_point(text, at);
    if (!c || is_control(*c)) {
      for (std::size_t i = start; i < at; ++i) out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[i]));
    } else {
      out += text.substr(start, at - start);
    }
  }
  return out + "\"";
}

std::string quote_names(const std::vector<std::string_view>& names, std::size_t max_names) {
  if (names.empty()) return "nothing";
  const std::size_t shown = std::min(names.size(), max_names);
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i != 0) out += ", ";
    out += quote_name(names[i]);
  }
  if (shown < names.size()) out += fmt::format(" and {} more", names.size() - shown);
  return out;
}

std::string system_reason(int error_number) { return std::generic_category().message(error_number); }

}  // namespace attnflow::internal
