#include "attnflow/files/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "attnflow/base/fail.h"
#include "attnflow/unicode/escape_text.h"

namespace attnflow::internal {

std::string quote_name(std::string_view text, std::size_t max_bytes) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    if (out.size() > max_bytes) {
      out += "...";
      break;
    }
    append_escaped(out, text, at);
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

void fail_file(std::string_view name, std::string_view message) {
  fail_with(ErrorKind::kBadFile, "{}: {}", name, message);
}

std::string system_reason(int error_number) { return std::generic_category().message(error_number); }

}  // namespace attnflow::internal
