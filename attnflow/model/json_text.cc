#include "attnflow/model/json_text.h"

#include <fmt/format.h>

#include "attnflow/base/error.h"
#include "attnflow/files/messages.h"

namespace attnflow::internal {

nlohmann::json parse_json_object(std::string_view text, const std::string& source) {
  constexpr int kMaxDepth = 64;
  const auto bound_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kMaxDepth) {
      throw Error(ErrorKind::kBadFile,
                  fmt::format("{}: expected JSON nested at most {} deep, found more", source, kMaxDepth));
    }
    return true;
  };
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(text, bound_depth);
  } catch (const nlohmann::json::exception& error) {
    constexpr std::size_t kMaxReason = 200;
    throw Error(ErrorKind::kBadFile, fmt::format("{}: expected JSON, found text that does not parse: {}", source,
                                                 quote_name(error.what(), kMaxReason)));
  }
  if (!json.is_object()) {
    throw Error(ErrorKind::kBadFile, fmt::format("{}: expected a JSON object, found {}", source, show_json(json)));
  }
  return json;
}

std::string show_json(const nlohmann::json& value) {
  constexpr std::size_t kMaxShown = 60;
  return quote_name(value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace), kMaxShown);
}

}  // namespace attnflow::internal
