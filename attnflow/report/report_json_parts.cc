#include "attnflow/report/report_json_parts.h"

#include <variant>

#include "attnflow/attribution/setting_options.h"

namespace attnflow::internal {
namespace {

// Escapes for a <script> element. The three characters occur in strings only.
void append_escaped(std::string& out, std::string_view json) {
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '<') {
      out += "\\u003c";
    } else if (json.substr(i, 3) == "\xe2\x80\xa8") {
      out += "\\u2028";
      i += 2;
    } else if (json.substr(i, 3) == "\xe2\x80\xa9") {
      out += "\\u2029";
      i += 2;
    } else {
      out += json[i];
    }
  }
}

}  // namespace

void append_field(std::string& out, std::string_view name, const Json& value) {
  out += out == "{" ? "\n\"" : ",\n\"";
  out += name;
  out += "\": ";
  append_escaped(out, value.dump());
}

Json settings_json(const Settings& settings, unsigned uses) {
  Json json = Json::object();
  for (const SettingOption& option : setting_options()) {
    if (!option.is_for(uses)) continue;
    json[option.name] = std::visit([](const auto& value) { return json_of(value); }, option.get(settings));
  }
  return json;
}

Json named_model_json(const ReportModel& model) {
  return {{"name", model.name}, {"architecture", model.architecture}, {"layers", model.layers}, {"heads", model.heads}};
}

}  // namespace attnflow::internal
