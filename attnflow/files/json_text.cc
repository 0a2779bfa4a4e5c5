#include "attnflow/files/json_text.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/files/messages.h"

namespace attnflow::internal {

namespace {

constexpr const char* kRestoreJson = "Restore the file from the model's source";

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& source) {
  // The parser treats a zero byte as the end of the text, and would ignore anything after it.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    fail_file(source,
              fmt::format("expected JSON, found a zero byte at offset {} of {}. {}", zero, text.size(), kRestoreJson));
  }
  // Called by the parser at each step; throws for what the parser itself accepts.
  std::vector<std::set<std::string>> keys;  // of the open objects, innermost last
  const auto check = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    constexpr int kMaxDepth = 64;
    if (depth > kMaxDepth)
      fail_file(source, fmt::format("expected JSON nested at most {} deep, found more", kMaxDepth));
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key && !keys.back().insert(value.get<std::string>()).second) {
      fail_file(source, fmt::format("expected each key once in a JSON object, found {} twice. {}",
                                    quote_name(value.get_ref<const std::string&>()), kRestoreJson));
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text, check);
  } catch (const nlohmann::json::exception& error) {
    constexpr std::size_t kMaxReason = 200;
    fail_file(source, fmt::format("expected JSON, found text that does not parse: {}. {}",
                                  quote_name(json_reason(error), kMaxReason), kRestoreJson));
  }
}

nlohmann::json parse_json_object(std::string_view text, const std::string& source) {
  nlohmann::json json = parse_json(text, source);
  if (!json.is_object()) fail_file(source, fmt::format("expected a JSON object, found {}", show_json(json)));
  return json;
}

std::string json_reason(const std::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 1, ..."
  std::string_view reason = error.what();
  if (const std::size_t end = reason.find("] "); reason.starts_with('[') && end != std::string_view::npos) {
    reason.remove_prefix(end + 2);
  }
  return std::string(reason);
}

std::string show_json(const nlohmann::json& value) {
  constexpr std::size_t kMaxShown = 60;
  if (value.is_string()) return quote_name(value.get<std::string>(), kMaxShown);
  const std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return value.is_structured() ? quote_name(text, kMaxShown) : text;
}

}  // namespace attnflow::internal
