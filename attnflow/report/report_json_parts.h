// Pieces of the report document as JSON, shared by its writers; internal.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/report/report.h"
#include "attnflow/report/report_fields.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {

using Json = nlohmann::ordered_json;

// Replaces each byte that is not UTF-8 by '?', which keeps the tokens' byte ranges.
inline std::string valid_utf8(std::string_view text) { return repair_utf8(text, "?"); }

// Appends `"name": value` to the open object `out`, escaped for a <script> element.
void append_field(std::string& out, std::string_view name, const Json& value);

// The options that any of `uses` takes.
Json settings_json(const Settings& settings, unsigned uses = ~0U);
// As in documents of evaluations.
Json named_model_json(const ReportModel& model);

// A document's value: a number, a text, a method, an object with its fields (report_fields.h), or a list of these.
template <typename T>
Json json_of(const T& value);
template <typename T>
Json json_of(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(json_of(value));
  return list;
}

class FieldWriter {
 public:
  void operator()(const char* name, const auto& value) { json[name] = json_of(value); }
  template <typename T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (value) json[name] = json_of(*value);
  }
  void required(const char* name, const auto& value) { json[name] = json_of(value); }
  void object(const char* name, const auto& fields) {
    FieldWriter inner;
    fields(inner);
    json[name] = std::move(inner.json);
  }
  template <typename Arc, typename Value>
  void arcs(const char* name, const std::vector<Arc>& arcs, Value Arc::*value) {
    Json& list = json[name] = Json::array();
    for (const Arc& arc : arcs) list.push_back(Json::array({arc.layer, arc.from, arc.to, arc.*value}));
  }
  void derived(const char* name, const auto& make) { json[name] = json_of(make()); }
  static bool has(const char*, bool written) { return written; }

  Json json = Json::object();
};

template <typename T>
Json json_of(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return valid_utf8(value);
  } else if constexpr (std::is_same_v<T, Method>) {
    return to_text(value);
  } else {
    FieldWriter writer;
    fields(writer, value);
    return std::move(writer.json);
  }
}

struct HeadOptions {
  std::vector<Note> more_notes = {};               // added to the report's
  OptionNames option_names = OptionNames::kShell;  // in the notes' advice
  bool replacements = true;                        // lists what replaced each token of the check
};

// The document without its arrays, as an open object.
std::string report_head(const Report& report, const HeadOptions& options = {});

}  // namespace attnflow::internal
