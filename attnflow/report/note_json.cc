#include "attnflow/report/note_json.h"

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "attnflow/report/report_json_parts.h"

namespace attnflow::internal {
namespace {

// Returns nothing for value types that only newer notes have.
std::optional<NoteValue> read_value(const Field& field) {
  const nlohmann::json& json = field.value();
  if (json.is_string()) return field.string();
  if (json.is_number_unsigned()) return json.get<std::size_t>();
  if (json.is_number()) return json.get<double>();
  const auto all = [&](bool (nlohmann::json::*is)() const noexcept) {
    return json.is_array() && std::all_of(json.begin(), json.end(), [&](const auto& one) { return (one.*is)(); });
  };
  if (all(&nlohmann::json::is_number_unsigned)) return json.get<std::vector<std::size_t>>();
  if (all(&nlohmann::json::is_string)) return json.get<std::vector<std::string>>();
  return std::nullopt;
}

}  // namespace

Json notes_json(const std::vector<Note>& notes, OptionNames option_names) {
  Json list = Json::array();
  for (const Note& note : notes) {
    Json values = Json::object();
    for (const auto& [name, value] : note.values) {
      values[name] = std::visit([](const auto& one) { return json_of(one); }, value);
    }
    Json& json = list.emplace_back(Json{{"code", to_text(note.code)}, {"values", std::move(values)}});
    json["text"] = valid_utf8(note.text);
    if (!note.advice.empty()) json["advice"] = valid_utf8(with_field_names(note.advice, option_names));
  }
  return list;
}

Note read_note(const Field& json) {
  if (json.value().is_string()) return Note(json.string());
  Note note(json.at("text").string());
  json.read("advice", note.advice);
  std::string code;
  json.read("code", code);
  note.code = find_note_code(code).value_or(NoteCode::kText);
  if (const std::optional<Field> values = json.find("values")) {
    for (const auto& [name, value] : values->value().items()) {
      const std::optional<Field> field = values->find(name.c_str());
      if (!field) continue;
      if (std::optional<NoteValue> known = read_value(*field)) note.values.emplace(name, *std::move(known));
    }
  }
  return note;
}

}  // namespace attnflow::internal
