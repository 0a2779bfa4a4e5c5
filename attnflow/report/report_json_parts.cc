#include "attnflow/report/report_json_parts.h"

#include <type_traits>
#include <variant>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/setting_options.h"

namespace attnflow::internal {
namespace {

// Appends JSON text so that it can stand inside a <script> element. The three characters occur in strings only.
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

Json text_list(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(valid_utf8(text));
  return list;
}

Json settings_json(const Settings& settings) {
  Json json = Json::object();
  for (const SettingOption& option : setting_options()) {
    std::visit(
        [&](const auto& value) {
          using Value = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::string>) {
            json[option.name] = valid_utf8(value);
          } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
            json[option.name] = text_list(value);
          } else {
            json[option.name] = value;
          }
        },
        option.get(settings));
  }
  return json;
}

Json model_json(const ReportModel& model) {
  return {{"name", valid_utf8(model.name)},
          {"architecture", valid_utf8(model.architecture)},
          {"layers", model.layers},
          {"heads", model.heads},
          {"causal", model.causal}};
}

Json named_model_json(const ReportModel& model) {
  return {{"name", model.name}, {"architecture", model.architecture}, {"layers", model.layers}, {"heads", model.heads}};
}

Json token_json(const InputToken& token) {
  Json json = Json::object();
  json["text"] = valid_utf8(token.text);
  if (token.begin) json["begin"] = *token.begin;
  if (token.end) json["end"] = *token.end;
  json["special"] = token.special;
  if (token.word) json["word"] = *token.word;
  json["segment"] = token.segment;
  if (token.unknown) json["unknown"] = true;
  if (!token.role.empty()) json["role"] = valid_utf8(token.role);
  return json;
}

Json choices_json(const std::vector<ReportChoice>& choices) {
  Json list = Json::array();
  for (const ReportChoice& choice : choices) {
    list.push_back({{"label", valid_utf8(choice.label)}, {"probability", choice.probability}});
    if (choice.id) list.back()["id"] = *choice.id;
  }
  return list;
}

}  // namespace attnflow::internal
