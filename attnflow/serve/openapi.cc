// Builds the OpenAPI document by expanding the abbreviations in openapi.json:
//
//   "x-settings": USE     the settings in the table (attribution/setting_options.h) that USE accepts
//   "x-errors": [STATUS]  the components for these errors, among an operation's responses
//   "content": SCHEMA     JSON of that schema
//   "required": "all"     every property
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "attnflow/attribution/setting_options.h"
#include "attnflow/explain/option_fields.h"
#include "attnflow/serve/api.h"
#include "attnflow/serve/api_options.h"
#include "attnflow/serve/embedded.h"

namespace attnflow {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMark = "x-settings";
constexpr std::array<std::pair<std::string_view, SettingUse>, 4> kUses = {
    {{"explain", kForExplain}, {"image", kForImage}, {"generate", kForGenerate}, {"evaluate", kForText}}};

// The components for errors, by status.
constexpr std::array<std::pair<unsigned, const char*>, 10> kErrors = {{{400, "Wrong"},
                                                                       {401, "Unauthorized"},
                                                                       {403, "Forbidden"},
                                                                       {404, "NotFound"},
                                                                       {408, "Timeout"},
                                                                       {413, "TooLarge"},
                                                                       {415, "UnsupportedMediaType"},
                                                                       {421, "Misdirected"},
                                                                       {422, "Unprocessable"},
                                                                       {503, "Busy"}}};

SettingUse use_of(std::string_view name) {
  for (const auto& [known, use] : kUses) {
    if (known == name) return use;
  }
  assert(false && "openapi.json names a use that there is not");
  return kForExplain;
}

// Describes options as fields.
std::string description(const SettingOption& option, SettingUse use) {
  if (use == kForText && option.name == std::string_view("output_token")) {
    return "auto, cls, mask, last, a position, or the text of a token";
  }
  std::string text = option.help;
  for (std::size_t at = text.find("--"); at != std::string::npos; at = text.find("--", at)) text.erase(at, 2);
  return text;
}

Json list_of(const Json& items) { return {{"type", "array"}, {"items", items}, {"maxItems", kMaxListed}}; }

Json number_schema(const char* type, const NumberRange& range) {
  Json schema = {{"type", type}, {"minimum", range.low}};
  if (std::isfinite(range.high)) schema[range.below_high ? "exclusiveMaximum" : "maximum"] = range.high;
  return schema;
}

// The values that a use accepts: a generation's rows are never divided by their sums.
std::vector<std::string> words_of(const SettingOption& option, SettingUse use) {
  std::vector<std::string> words(option.words.begin(), option.words.end());
  if (use == kForGenerate && option.name == std::string_view("normalize")) std::erase(words, "row");
  const bool all_methods = use == kForExplain || use == kForImage;
  if (!all_methods && option.name == std::string_view("method")) {
    std::erase_if(words, [](const std::string& name) { return !method_info(parse_method(name)).aggregates(); });
  }
  return words;
}

// `query`: as a URL parameter, where all lists are strings.
Json schema_of(const SettingOption& option, SettingUse use, bool query) {
  const Json whole = {{"type", "integer"}, {"minimum", 0}};
  const Json text = {{"type", "string"}};
  const SettingValue usual = option.get(default_settings(use));
  Json schema;
  if (std::holds_alternative<bool>(usual)) {
    schema = {{"type", "boolean"}};
  } else if (std::holds_alternative<double>(usual)) {
    schema = number_schema("number", option.range);
  } else if (std::holds_alternative<std::size_t>(usual)) {
    schema = {{"type", "integer"}, {"minimum", static_cast<std::uint64_t>(option.range.low)}};
    if (option.name == std::string_view("top_k")) schema["maximum"] = kMaxTopK;
  } else if (std::holds_alternative<std::vector<std::string>>(usual)) {
    schema = {{"type", "string"}, {"minLength", 1}};
    if (!query) {
      const Json items = {{"enum", words_of(option, use)}};
      schema = {{"oneOf", {{{"type", "array"}, {"items", items}, {"minItems", 1}, {"uniqueItems", true}}, schema}}};
    }
  } else if (std::holds_alternative<std::vector<std::size_t>>(usual)) {
    schema = {{"type", "string"}, {"maxLength", kMaxLayersText}};
    if (!query) schema = {{"oneOf", {schema, list_of(whole)}}};
  } else if (!option.words.empty()) {
    schema = {{"enum", words_of(option, use)}};
  } else if (query || option.form == SettingForm::kPlain) {
    schema = {{"type", "string"}, {"minLength", 1}};
  } else {
    schema = {{"oneOf", {text, option.form == SettingForm::kNumberToo ? whole : list_of(whole)}}};
  }
  const bool list = std::holds_alternative<std::vector<std::string>>(usual) ||
                    std::holds_alternative<std::vector<std::size_t>>(usual);
  const bool layers = std::holds_alternative<std::vector<std::size_t>>(usual);
  if (!layers && !(query && list)) {
    std::visit([&](const auto& value) { schema["default"] = value; }, usual);
  }
  return schema;
}

// Adds the settings to an object's properties.
void expand_properties(Json& schema) {
  const SettingUse use = use_of(schema[kMark].get<std::string>());
  schema.erase(kMark);
  for (const SettingOption& option : setting_options()) {
    if ((option.uses & use) == 0) continue;
    Json& property = schema["properties"][option.name];
    property = schema_of(option, use, /*query=*/false);
    property["description"] = description(option, use);
  }
}

// Expands the mark in a list of parameters.
void expand_parameters(Json& parameters) {
  Json expanded = Json::array();
  for (const Json& parameter : parameters) {
    if (!parameter.contains(kMark)) {
      expanded.push_back(parameter);
      continue;
    }
    const SettingUse use = use_of(parameter[kMark].get<std::string>());
    for (const SettingOption& option : setting_options()) {
      if ((option.uses & use) == 0) continue;
      expanded.push_back({{"name", option.name},
                          {"in", "query"},
                          {"schema", schema_of(option, use, /*query=*/true)},
                          {"description", description(option, use)}});
    }
  }
  parameters = std::move(expanded);
}

Json reference(const std::string& component) { return {{"$ref", "#/components/" + component}}; }

// Expands errors, contents and required properties everywhere in `json`.
void write_out(Json& json) {
  if (json.contains("x-errors")) {
    const Json statuses = json["x-errors"];
    json.erase("x-errors");
    for (const auto& [status, name] : kErrors) {
      const bool is_listed = std::find(statuses.begin(), statuses.end(), status) != statuses.end();
      if (is_listed) json[std::to_string(status)] = reference(std::string("responses/") + name);
    }
  }
  if (json.contains("content") && json["content"].is_string()) {
    const Json schema = reference("schemas/" + json["content"].get<std::string>());
    json["content"] = {{"application/json", {{"schema", schema}}}};
  }
  if (json.contains("required") && json["required"] == "all") {
    json["required"] = Json::array();
    for (const auto& [name, property] : json["properties"].items()) json["required"].push_back(name);
  }
  for (Json& part : json) {
    if (part.is_structured()) write_out(part);
  }
}

std::string expanded_document() {
  Json document = Json::parse(
      std::string_view(reinterpret_cast<const char*>(internal::openapi_bytes), internal::openapi_bytes_size));
  write_out(document);
  for (Json& schema : document["components"]["schemas"]) {
    if (schema.contains(kMark)) expand_properties(schema);
  }
  for (Json& path : document["paths"]) {
    for (Json& operation : path) {
      if (operation.contains("parameters")) expand_parameters(operation["parameters"]);
    }
  }
  return document.dump(2) + "\n";
}

}  // namespace

std::string_view openapi_json() {
  static const std::string kDocument = expanded_document();
  return kDocument;
}

}  // namespace attnflow
