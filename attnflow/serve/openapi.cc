// Builds the OpenAPI document by expanding the abbreviations in openapi.json:
//
//   "x-options": USE      the options that USE accepts, from their tables (attribution/option.h)
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
#include <utility>
#include <variant>
#include <vector>

#include "attnflow/analysis/generate/generate_options.h"
#include "attnflow/attribution/setting_options.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/serve/api.h"
#include "attnflow/serve/api_options.h"
#include "attnflow/serve/embedded.h"

namespace attnflow {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMark = "x-options";
constexpr std::array<std::pair<std::string_view, OptionUse>, 4> kUses = {{{"explain", kExplainRequest},
                                                                          {"image", kImageRequest},
                                                                          {"generate", kGenerateRequest},
                                                                          {"evaluate", kEvaluateRequest}}};

// The server's maximum for a number or a list's entries. Other numbers are limited to what all JSON readers represent
// exactly, other lists to kMaxListed entries.
constexpr std::uint64_t kMostWhole = 1ULL << 53U;
constexpr std::array<std::pair<std::string_view, std::size_t>, 3> kMost = {
    {{"top_k", kMaxTopK}, {"tokens", kMaxGenerated}, {"certificate", kMaxCertificates}}};

std::size_t most_of(const OptionInfo& option, std::size_t usual) {
  const auto* const found =
      std::find_if(kMost.begin(), kMost.end(), [&](const auto& most) { return most.first == option.name; });
  return found == kMost.end() ? usual : found->second;
}

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

OptionUse use_of(std::string_view name) {
  for (const auto& [known, use] : kUses) {
    if (known == name) return use;
  }
  assert(false && "openapi.json names a use that there is not");
  return kForExplain;
}

std::string description(const OptionInfo& option, OptionUse use) {
  if (use == kEvaluateRequest && option.name == std::string_view("output_token")) {
    return "auto, cls, mask, last, a position, or the text of a token";
  }
  return option.field_help();
}

Json list_of(const Json& items, std::size_t most = kMaxListed) {
  return {{"type", "array"}, {"items", items}, {"maxItems", most}};
}

Json number_schema(const NumberRange& range) {
  Json schema = {{"type", "number"}, {range.above_low ? "exclusiveMinimum" : "minimum", range.low}};
  if (std::isfinite(range.high)) schema[range.below_high ? "exclusiveMaximum" : "maximum"] = range.high;
  return schema;
}

// A generation's rows are never divided by their sums.
std::vector<std::string> words_of(const OptionInfo& option, OptionUse use) {
  std::vector<std::string> words(option.words.begin(), option.words.end());
  if (use == kGenerateRequest && option.name == std::string_view("normalize")) std::erase(words, "row");
  const bool all_methods = use == kExplainRequest || use == kImageRequest;
  if (!all_methods && option.name == std::string_view("method")) {
    std::erase_if(words, [](const std::string& name) { return !method_info(parse_method(name)).aggregates(); });
  }
  return words;
}

// `query`: as a URL parameter, where all lists are strings.
class SchemaOf {
 public:
  SchemaOf(const OptionInfo& option, OptionUse use, bool query) : option_(option), use_(use), query_(query) {}

  Json operator()(bool usual) const { return {{"type", "boolean"}, {"default", usual}}; }
  Json operator()(double usual) const {
    Json schema = number_schema(option_.range);
    schema["default"] = usual;
    return schema;
  }
  Json operator()(std::size_t usual) const {
    return {{"type", "integer"},
            {"minimum", static_cast<std::uint64_t>(option_.range.low)},
            {"maximum", most_of(option_, kMostWhole)},
            {"default", usual}};
  }
  Json operator()(const std::string& usual) const {
    const Json text = {{"type", "string"}};
    Json schema = {{"type", "string"}, {"minLength", 1}};
    if (!option_.words.empty()) {
      schema = {{"enum", words_of(option_, use_)}};
    } else if (option_.form == OptionForm::kNullToo) {
      return {{"type", {"string", "null"}}};
    } else if (!query_ && option_.form == OptionForm::kNamesToo) {
      schema = {{"oneOf", {text, list_of(name_or_number(), most_of(option_, kMaxListed))}}};
    } else if (!query_ && option_.form != OptionForm::kPlain) {
      schema = {{"oneOf", {text, option_.form == OptionForm::kNumberToo ? whole() : list_of(whole())}}};
    }
    schema["default"] = usual;
    return schema;
  }
  Json operator()(const std::vector<std::string>& usual) const {
    if (option_.words.empty()) {
      const Json text = {{"type", "string"}};
      const Json entry = option_.form == OptionForm::kPairs ? pair_part() : text;
      return query_ ? text : Json{{"oneOf", {text, list_of(entry, most_of(option_, kMaxListed))}}};
    }
    Json text = {{"type", "string"}, {"minLength", 1}};
    if (query_) return text;
    const Json items = {{"enum", words_of(option_, use_)}};
    const Json list = {{"type", "array"}, {"items", items}, {"minItems", 1}, {"uniqueItems", true}};
    return {{"oneOf", {list, text}}, {"default", usual}};
  }
  Json operator()(const std::vector<std::size_t>&) const {
    if (option_.form == OptionForm::kIds) return list_of(whole());
    const Json text = {{"type", "string"}, {"maxLength", kMaxLayersText}};
    return query_ ? text : Json{{"oneOf", {text, list_of(whole())}}};
  }

 private:
  static Json whole() { return {{"type", "integer"}, {"minimum", 0}}; }
  static Json name_or_number() { return {{"oneOf", {Json{{"type", "string"}}, whole()}}}; }
  static Json pair_part() {
    Json pair = list_of(name_or_number(), 2);
    pair["minItems"] = 2;
    return {{"oneOf", {Json{{"type", "string"}}, whole(), pair}}};
  }

  const OptionInfo& option_;
  OptionUse use_;
  bool query_;
};

// Calls `take` with each accepted option's name and described schema.
template <typename Take>
void for_each_option(OptionUse use, bool query, const Take& take) {
  const auto of_table = [&](const auto& table, const auto& owner) {
    for (const auto& option : table) {
      if (!option.is_for(use)) continue;
      take(option.name, std::visit(SchemaOf(option, use, query), option.get(owner)), description(option, use));
    }
  };
  of_table(setting_options(), default_settings(use));
  of_table(explain_options(), ExplainOptions());
  of_table(generate_options(), GenerateOptions());
}

void expand_properties(Json& schema) {
  const OptionUse use = use_of(schema[kMark].get<std::string>());
  schema.erase(kMark);
  for_each_option(use, /*query=*/false, [&](const char* name, Json property, const std::string& text) {
    property["description"] = text;
    schema["properties"][name] = std::move(property);
  });
}

void expand_parameters(Json& parameters) {
  Json expanded = Json::array();
  for (const Json& parameter : parameters) {
    if (!parameter.contains(kMark)) {
      expanded.push_back(parameter);
      continue;
    }
    const OptionUse use = use_of(parameter[kMark].get<std::string>());
    for_each_option(use, /*query=*/true, [&](const char* name, const Json& schema, const std::string& text) {
      expanded.push_back({{"name", name}, {"in", "query"}, {"schema", schema}, {"description", text}});
    });
  }
  parameters = std::move(expanded);
}

Json reference(const std::string& component) { return {{"$ref", "#/components/" + component}}; }

// Expands errors, contents and required properties everywhere.
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
