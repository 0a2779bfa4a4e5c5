#include "attnflow/draw/markup.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace attnflow::internal {

std::string xml_escaped(const std::string& text) {
  constexpr std::string_view kMeaningful = "&<>\"'";
  constexpr std::array<std::string_view, kMeaningful.size()> kEntities = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    const std::size_t at = kMeaningful.find(c);
    escaped += at == std::string_view::npos ? std::string_view(&c, 1) : kEntities[at];
  }
  return escaped;
}

}  // namespace attnflow::internal
