#include "attnflow/text/utf8.h"

#include "attnflow/files/utf8.h"

namespace attnflow {

std::optional<std::size_t> find_invalid_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t begin = at;
    if (!internal::next_code_point(bytes, at)) return begin;
  }
  return std::nullopt;
}

}  // namespace attnflow
