#include "attnflow/serve/api_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <variant>
#include <vector>

#include "attnflow/attribution/setting_options.h"
#include "attnflow/base/error.h"
#include "attnflow/base/parse_number.h"
#include "attnflow/explain/option_fields.h"
#include "attnflow/files/messages.h"

namespace attnflow {
namespace {

using UnorderedJson = nlohmann::json;

constexpr std::size_t kMaxShown = 60;
constexpr std::size_t kMaxStopId = 64;

// Limits for untrusted clients.
constexpr OptionLimits kLimits = {.listed = kMaxListed, .layers_text = kMaxLayersText, .top_k = kMaxTopK};

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorKind::kUsage, message); }

void check_generated(const char* name, std::size_t tokens, const std::vector<std::size_t>& chosen) {
  if (chosen.empty() || chosen.back() < tokens) return;
  fail(fmt::format("{}: expected generated tokens from 0 to {}, found {}", name, tokens - 1, chosen.back()));
}

void read_explanation(OptionFields& fields, ExplainOptions& options, OptionUse use) {
  fields.read(setting_options(), options.settings, use);
  fields.read(explain_options(), options, use);
  if (options.certificates.size() > kMaxCertificates) {
    fail(
        fmt::format("certificate: expected at most {} pairs, found {}", kMaxCertificates, options.certificates.size()));
  }
}

// To a flag or a number if the setting is one.
UnorderedJson query_value(const std::string& name, const std::string& text) {
  bool flag = name == "compact";
  bool number = false;
  const auto look = [&](const auto& table, const auto& owner) {
    for (const auto& option : table) {
      if (name != option.name) continue;
      const OptionValue value = option.get(owner);
      flag = std::holds_alternative<bool>(value);
      number = std::holds_alternative<double>(value) || std::holds_alternative<std::size_t>(value);
    }
  };
  look(setting_options(), Settings());
  look(explain_options(), ExplainOptions());
  if (flag) {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
    fail(fmt::format("{}: expected true or false, found {}", name, internal::quote_name(text, kMaxShown)));
  }
  if (number) {
    if (const auto whole = internal::parse_number<std::uint64_t>(text)) return *whole;
    if (const auto decimal = internal::parse_number<double>(text); decimal && std::isfinite(*decimal)) return *decimal;
    fail(fmt::format("{}: expected a number, found {}", name, internal::quote_name(text, kMaxShown)));
  }
  return text;
}

}  // namespace

ExplainRequest read_explain_request(std::string_view json) {
  OptionFields fields = OptionFields::parse(json, kLimits);
  ExplainRequest request;
  ExplainOptions& options = request.options;
  options.settings = default_settings(kForExplain);
  fields.read("model", request.model);
  fields.read("text", request.text);
  if (request.text.empty()) fail("text: expected a text to explain, found none");
  fields.read("pair", request.pair);
  read_explanation(fields, options, kExplainRequest);
  fields.read("compact", request.compact);
  leave_out_flow(options, fields.has("method"));
  fields.finish();
  check_options(options);
  return request;
}

ImageRequest read_image_request(const NamedTexts& query) {
  UnorderedJson object = UnorderedJson::object();
  for (const auto& [name, value] : query) {
    if (object.contains(name)) {
      fail(fmt::format("expected each option once, found {} twice", internal::quote_name(name, kMaxShown)));
    }
    object[name] = query_value(name, value);
  }
  OptionFields fields(std::move(object), kLimits);
  ImageRequest request;
  request.options.settings = default_settings(kForImage);
  fields.read("model", request.model);
  fields.read("name", request.name);
  read_explanation(fields, request.options, kImageRequest);
  fields.read("compact", request.compact);
  fields.finish();
  validate(request.options.settings);
  return request;
}

std::string read_stop_request(std::string_view json) {
  OptionFields fields = OptionFields::parse(json, kLimits);
  std::string id;
  fields.read("stop_id", id);
  fields.finish();
  if (id.empty()) fail("stop_id: expected the stop_id of a generation, found none");
  return id;
}

GenerateRequest read_generate_request(std::string_view json) {
  OptionFields fields = OptionFields::parse(json, kLimits);
  GenerateRequest request;
  GenerateOptions& options = request.options;
  options.settings = default_settings(kForGenerate);
  options.as_it_runs = true;  // for clients that watch, with the same result for those that do not
  fields.read("model", request.model);
  fields.read("prompt", request.prompt);
  if (request.prompt.empty()) fail("prompt: expected a text to continue, found none");
  fields.read(setting_options(), options.settings, kGenerateRequest);
  fields.read(generate_options(), options, kGenerateRequest);
  if (options.tokens > kMaxGenerated) {
    fail(fmt::format("tokens: expected at most {}, found {}", kMaxGenerated, options.tokens));
  }
  check_generated("flow_tokens", options.tokens, options.flow_tokens);
  check_generated("check_tokens", options.tokens, options.check_tokens);
  if (!options.settings.wants(Method::kFlow) && !(options.flow_tokens.empty() && options.flow_layers.empty())) {
    fail("flow_tokens and flow_layers require method flow");
  }
  fields.read("stop_id", request.stop_id);
  if (request.stop_id.size() > kMaxStopId) {
    fail(fmt::format("stop_id: expected at most {} bytes, found {}", kMaxStopId, request.stop_id.size()));
  }
  fields.read("compact", request.compact);
  fields.finish();
  check_generate_options(options);
  return request;
}

EvaluateRequest read_evaluate_request(std::string_view json) {
  OptionFields fields = OptionFields::parse(json, kLimits);
  EvaluateRequest request;
  ExplainOptions& options = request.options.explain;
  fields.read("model", request.model);
  fields.read("text", request.text);
  if (request.text.empty()) fail("text: expected a text to evaluate, found none");
  fields.read("pair", request.pair);
  read_explanation(fields, options, kEvaluateRequest);
  fields.read("blank", request.options.blank);
  fields.finish();
  validate(options.settings);
  const std::string& blank = request.options.blank;
  if (blank != "auto" && blank != "unk" && blank != "mask" && blank != "pad") {
    fail(fmt::format("blank: expected auto, unk, mask or pad, found {}", internal::quote_name(blank, kMaxShown)));
  }
  return request;
}

}  // namespace attnflow
