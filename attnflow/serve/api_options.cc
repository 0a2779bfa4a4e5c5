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
#include "attnflow/explain/certificates.h"
#include "attnflow/explain/option_fields.h"
#include "attnflow/explain/referents.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/sampling.h"

namespace attnflow {
namespace {

using UnorderedJson = nlohmann::json;

constexpr std::size_t kMaxShown = 60;
constexpr std::size_t kMaxCertificates = 16;
constexpr std::size_t kMaxGenerated = 4096;
constexpr std::size_t kMaxStopId = 64;

// The most that an untrusted client may request.
constexpr OptionLimits kLimits = {.listed = kMaxListed, .layers_text = kMaxLayersText, .top_k = kMaxTopK};

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorKind::kUsage, message); }

std::vector<std::size_t> parse_position_list(const char* name, const std::string& text) {
  return text.empty() ? std::vector<std::size_t>{} : parse_positions(text, name);
}

// Reads a selection of the tokens to be generated.
void read_generated(OptionFields& fields, const char* name, std::size_t tokens, std::vector<std::size_t>& chosen) {
  fields.read(name, chosen, [&](const std::string& text) { return parse_position_list(name, text); });
  sort_once(chosen);
  if (chosen.empty() || chosen.back() < tokens) return;
  fail(fmt::format("{}: expected generated tokens from 0 to {}, found {}", name, tokens - 1, chosen.back()));
}

void read_certificates(OptionFields& fields, ExplainOptions& options) {
  fields.read_pairs("certificate", options.certificates);
  if (options.certificates.size() > kMaxCertificates) {
    fail(
        fmt::format("certificate: expected at most {} pairs, found {}", kMaxCertificates, options.certificates.size()));
  }
  for (const std::string& pair : options.certificates) parse_certificate(pair);
}

// Converts a value of the query to JSON, as a flag or a number if the setting is one.
UnorderedJson query_value(const std::string& name, const std::string& text) {
  bool flag = name == "keep_attention" || name == "compact";
  bool number = false;
  for (const SettingOption& option : setting_options()) {
    if (name != option.name) continue;
    const SettingValue value = option.get({});
    flag = std::holds_alternative<bool>(value);
    number = std::holds_alternative<double>(value) || std::holds_alternative<std::size_t>(value);
  }
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
  fields.read_settings(options.settings, kForExplain);
  fields.read("candidates", options.candidates);
  fields.read("referents", options.referents);
  read_certificates(fields, options);
  fields.read("only_output_token", options.only_output_token);
  fields.read("keep_attention", options.keep_attention);
  fields.read("max_flow_seconds", options.max_flow_seconds);
  fields.read("truncate", options.truncate);
  fields.read("blank", options.blank, [](const std::string& text) { return parse_position_list("blank", text); });
  sort_once(options.blank);
  fields.read("compact", request.compact);
  leave_out_flow(options, fields.has("method"));
  fields.finish();
  validate(options.settings);
  check_referents(options.referents);
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
  fields.read("model", request.model);
  fields.read("name", request.name);
  fields.read_settings(request.options.settings, kForImage);
  read_certificates(fields, request.options);
  fields.read("keep_attention", request.options.keep_attention);
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
  fields.read_settings(options.settings, kForGenerate);
  fields.read("tokens", options.tokens);
  if (options.tokens > kMaxGenerated) {
    fail(fmt::format("tokens: expected at most {}, found {}", kMaxGenerated, options.tokens));
  }
  fields.read("chat", options.chat);
  fields.read("system", options.system);
  fields.read("temperature", options.sampling.temperature);
  fields.read("top_p", options.sampling.top_p);
  std::size_t seed = options.sampling.seed;
  fields.read("seed", seed);
  options.sampling.seed = seed;
  fields.read("begin_with", options.begin_with, [](const std::string& text) -> std::vector<std::size_t> {
    fail(fmt::format("begin_with: expected a list of token ids, such as [464, 3290], found '{}'", text));
  });
  if (options.begin_with.size() > options.tokens) {
    fail(fmt::format("begin_with: expected at most {} token ids, the number of tokens to generate, found {}",
                     options.tokens, options.begin_with.size()));
  }
  fields.read("ignore_end", options.ignore_end);
  fields.read("generated_columns", options.generated_columns);
  read_generated(fields, "flow_tokens", options.tokens, options.flow_tokens);
  read_generated(fields, "check_tokens", options.tokens, options.check_tokens);
  fields.read_layers("flow_layers", options.flow_layers);
  if (!options.settings.wants(Method::kFlow) && !(options.flow_tokens.empty() && options.flow_layers.empty())) {
    fail("flow_tokens and flow_layers require method flow");
  }
  // The command line's patterns are left out: a regular expression from an untrusted client may take any amount of
  // time.
  fields.read("exclude_stop_words", options.filter.stop_words);
  fields.read("exclude_punctuation", options.filter.punctuation);
  fields.read("exclude_special", options.filter.special);
  fields.read("keep_template", options.keep_template);
  fields.read("exclude_tokens", options.filter.indices);
  fields.read("stop_id", request.stop_id);
  if (request.stop_id.size() > kMaxStopId) {
    fail(fmt::format("stop_id: expected at most {} bytes, found {}", kMaxStopId, request.stop_id.size()));
  }
  fields.read("compact", request.compact);
  fields.finish();
  if (options.tokens == 0) fail("tokens: expected at least 1, found 0");
  if (options.settings.normalization == Normalization::kRow) {
    fail("normalize: expected none or receptive-field for a generation, found row");
  }
  const Sampler checked(options.sampling);  // throws for an invalid temperature or share
  validate(options.settings);
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
  fields.read_settings(options.settings, kForText);
  fields.read("truncate", options.truncate);
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
