#include "attnflow/report/report_json_field.h"

#include "attnflow/base/format_error.h"

namespace attnflow::internal {

void report_problem(const std::string& where, const std::string& expected, const std::string& found) {
  throw internal::file_error("report document, {}: expected {}, found {}; write the report again with -o FILE.json",
                             where.empty() ? "top level" : where, expected, found);
}

std::string describe(const nlohmann::json& value) {
  constexpr std::size_t kMost = 40;
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return text.size() <= kMost ? "the string \"" + text + "\"" : fmt::format("a string of {} bytes", text.size());
  }
  if (value.is_number() || value.is_boolean()) return value.dump();
  return value.is_null() ? "null" : value.is_array() ? "an array" : "an object";
}

}  // namespace attnflow::internal
