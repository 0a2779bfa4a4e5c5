#include "attnflow/serve/api_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <variant>
#include <vector>

#include "attnflow/analysis/explain/certificates.h"
#include "attnflow/analysis/explain/referents.h"
#include "attnflow/attribution/setting_options.h"
#include "attnflow/base/error.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/sampling.h"

namespace attnflow {
namespace {

using UnorderedJson = nlohmann::json;

constexpr int kMaxDepth = 4;  // an object of lists has 2
constexpr std::size_t kMaxShown = 60;
constexpr std::size_t kMaxCertificates = 16;
constexpr std::size_t kMaxGenerated = 4096;
constexpr double kMaxCount = 9007199254740992.0;  // 2^53: whole numbers that JSON readers agree on

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorKind::kUsage, message); }

std::string show(const UnorderedJson& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return internal::quote_name(value.dump(-1, ' ', true, UnorderedJson::error_handler_t::replace), kMaxShown);
}

UnorderedJson parse_object(std::string_view text) {
  std::vector<std::set<std::string>> names;
  const auto check = [&](int depth, UnorderedJson::parse_event_t event, UnorderedJson& value) {
    if (depth > kMaxDepth) fail(fmt::format("expected JSON nested at most {} deep, found more", kMaxDepth));
    if (event == UnorderedJson::parse_event_t::object_start) names.emplace_back();
    if (event == UnorderedJson::parse_event_t::object_end) names.pop_back();
    if (event == UnorderedJson::parse_event_t::key && !names.back().insert(value.get<std::string>()).second) {
      fail(fmt::format("expected each field once, found {} twice", show(value)));
    }
    return true;
  };
  UnorderedJson json;
  try {
    json = UnorderedJson::parse(text.begin(), text.end(), check);
  } catch (const UnorderedJson::exception& error) {
    constexpr std::size_t kMaxReason = 160;
    // "[json.exception.parse_error.101] parse error at line 1, ..."
    std::string_view reason = error.what();
    if (const std::size_t end = reason.find("] "); reason.starts_with('[') && end != std::string_view::npos) {
      reason.remove_prefix(end + 2);
    }
    fail(fmt::format("expected a JSON object, found text that does not parse: {}",
                     internal::quote_name(reason, kMaxReason)));
  }
  if (!json.is_object()) fail(fmt::format("expected a JSON object, found {}", show(json)));
  return json;
}

// The fields of a request, each read once.
class Fields {
 public:
  explicit Fields(UnorderedJson object) : object_(std::move(object)) {}

  void read(const char* name, std::string& value) {
    if (const UnorderedJson* given = find(name)) {
      if (!given->is_string()) wrong(name, "a text", *given);
      value = given->get<std::string>();
    }
  }

  void read(const char* name, std::optional<std::string>& value) {
    if (const UnorderedJson* given = find(name); given != nullptr && !given->is_null()) {
      if (!given->is_string()) wrong(name, "a text", *given);
      value = given->get<std::string>();
    }
  }

  // A text, or a whole number: heads, output_token.
  void read_text_or_number(const char* name, std::string& value) {
    const UnorderedJson* given = find(name);
    if (given == nullptr) return;
    if (given->is_string()) {
      value = given->get<std::string>();
    } else {
      value = std::to_string(whole(name, "a string or a whole number", *given));
    }
  }

  void read(const char* name, bool& value) {
    if (const UnorderedJson* given = find(name)) {
      if (!given->is_boolean()) wrong(name, "true or false", *given);
      value = given->get<bool>();
    }
  }

  void read(const char* name, double& value) {
    if (const UnorderedJson* given = find(name)) {
      if (!given->is_number()) wrong(name, "a number", *given);
      value = given->get<double>();
      if (!std::isfinite(value)) wrong(name, "a finite number", *given);
    }
  }

  void read(const char* name, std::size_t& value) {
    if (const UnorderedJson* given = find(name)) value = whole(name, "a whole number of at least 0", *given);
  }

  // Settings of these types, but for layers.
  template <typename T>
  void read_plain(const char* name, T& value) {
    if constexpr (!std::is_same_v<T, std::vector<std::size_t>>) read(name, value);
  }

  // A list of texts, or one text with commas.
  void read(const char* name, std::vector<std::string>& value) {
    const UnorderedJson* given = find(name);
    if (given == nullptr) return;
    value.clear();
    if (given->is_string()) {
      value = split(given->get<std::string>());
    } else {
      if (!given->is_array()) wrong(name, "a list of strings", *given);
      for (const UnorderedJson& one : *given) {
        if (!one.is_string()) wrong(name, "a list of strings", one);
        value.push_back(one.get<std::string>());
        limit(name, value.size());
      }
    }
    limit(name, value.size());
  }

  // A list of whole numbers, or what `parse` reads.
  template <typename Parse>
  void read(const char* name, std::vector<std::size_t>& value, const Parse& parse) {
    const UnorderedJson* given = find(name);
    if (given == nullptr) return;
    if (given->is_string()) {
      const auto text = given->get<std::string>();
      if (text.size() > kMaxLayersText) {
        fail(fmt::format("{}: expected at most {} characters, found {}", name, kMaxLayersText, text.size()));
      }
      value = parse(text);
      return;
    }
    value.clear();
    if (!given->is_array()) wrong(name, "a list of whole numbers", *given);
    for (const UnorderedJson& one : *given) {
      value.push_back(whole(name, "a list of whole numbers", one));
      limit(name, value.size());
    }
  }

  // A list of whole numbers as a text with commas, or a text: mask_columns.
  void read_text_or_positions(const char* name, std::string& value) {
    const UnorderedJson* given = find(name);
    if (given == nullptr) return;
    if (given->is_string()) {
      value = given->get<std::string>();
      return;
    }
    std::vector<std::size_t> positions;
    if (!given->is_array()) wrong(name, "a string or a list of positions", *given);
    for (const UnorderedJson& one : *given) {
      positions.push_back(whole(name, "a string or a list of positions", one));
      limit(name, positions.size());
    }
    value = positions.empty() ? "none" : fmt::format("{}", fmt::join(positions, ","));
  }

  bool has(const char* name) const { return object_.contains(name); }

  // Call last: every field of the request must be one that was asked for.
  void finish() const {
    for (const auto& [name, value] : object_.items()) {
      if (asked_.contains(name)) continue;
      fail(fmt::format("expected fields among {}, found {}", fmt::join(asked_, ", "),
                       internal::quote_name(name, kMaxShown)));
    }
  }

 private:
  const UnorderedJson* find(const char* name) {
    asked_.insert(name);
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  [[noreturn]] static void wrong(const char* name, const char* expected, const UnorderedJson& found) {
    fail(fmt::format("{}: expected {}, found {}", name, expected, show(found)));
  }

  static std::size_t whole(const char* name, const char* expected, const UnorderedJson& given) {
    if (given.is_number_unsigned() && given.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMaxCount)) {
      return given.get<std::size_t>();
    }
    // 3.0 is a whole number, too, as JSON sees it.
    if (given.is_number_float()) {
      const auto value = given.get<double>();
      if (value >= 0.0 && value <= kMaxCount && value == std::floor(value)) return static_cast<std::size_t>(value);
    }
    wrong(name, expected, given);
  }

  static void limit(const char* name, std::size_t count) {
    if (count > kMaxListed) fail(fmt::format("{}: expected at most {} entries, found more", name, kMaxListed));
  }

  static std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    if (text.empty()) return parts;
    std::size_t begin = 0;
    while (true) {
      const std::size_t end = text.find(',', begin);
      parts.push_back(text.substr(begin, end - begin));
      if (end == std::string::npos || parts.size() > kMaxListed) return parts;
      begin = end + 1;
    }
  }

  UnorderedJson object_;
  std::set<std::string, std::less<>> asked_;
};

std::vector<std::size_t> parse_position_list(const char* name, const std::string& text) {
  return text.empty() ? std::vector<std::size_t>{} : parse_positions(text, name);
}

void sort_once(std::vector<std::size_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

void read_layers(Fields& fields, const char* name, std::vector<std::size_t>& layers) {
  fields.read(name, layers, parse_layers);
  sort_once(layers);
  if (!layers.empty() && layers.front() == 0) fail(fmt::format("{}: expected layers from 1, found 0", name));
}

// The settings that a request takes (attribution/setting_options.h).
void read_settings(Fields& fields, Settings& settings, SettingUse use) {
  for (const SettingOption& option : setting_options()) {
    if ((option.uses & use) == 0) continue;
    SettingValue value = option.get(settings);
    if (auto* const layers = std::get_if<std::vector<std::size_t>>(&value)) {
      read_layers(fields, option.name, *layers);
    } else if (auto* const text = std::get_if<std::string>(&value);
               text != nullptr && option.form != SettingForm::kPlain) {
      if (option.form == SettingForm::kNumberToo) fields.read_text_or_number(option.name, *text);
      if (option.form == SettingForm::kPositionsToo) fields.read_text_or_positions(option.name, *text);
    } else {
      std::visit([&](auto& plain) { fields.read_plain(option.name, plain); }, value);
    }
    option.set(settings, value);
  }
  if (settings.top_k > kMaxTopK) {
    fail(fmt::format("top_k: expected at most {}, found {}", kMaxTopK, settings.top_k));
  }
}

void read_certificates(Fields& fields, ExplainOptions& options) {
  // One text is one pair, whose parts have a comma between them.
  std::vector<std::string> parts;
  fields.read("certificate", parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool joins = parts[i].find(',') == std::string::npos && i + 1 < parts.size();
    options.certificates.push_back(joins ? parts[i] + "," + parts[i + 1] : parts[i]);
    if (joins) ++i;
  }
  if (options.certificates.size() > kMaxCertificates) {
    fail(
        fmt::format("certificate: expected at most {} pairs, found {}", kMaxCertificates, options.certificates.size()));
  }
  for (const std::string& pair : options.certificates) parse_certificate(pair);
}

// A value of the query as JSON: what looks like a number is one where a number may stand.
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
    const char* const end = text.data() + text.size();
    std::uint64_t whole = 0;
    if (const auto [at, error] = std::from_chars(text.data(), end, whole); error == std::errc{} && at == end) {
      return whole;
    }
    double decimal = 0.0;
    if (const auto [at, error] = std::from_chars(text.data(), end, decimal);
        error == std::errc{} && at == end && std::isfinite(decimal)) {
      return decimal;
    }
    fail(fmt::format("{}: expected a number, found {}", name, internal::quote_name(text, kMaxShown)));
  }
  return text;
}

}  // namespace

Settings default_settings(SettingUse use) {
  Settings settings;
  if (use == kForExplain || use == kForGenerate) settings.mixing = Mixing::kAuto;
  if (use == kForGenerate) settings.methods = {Method::kRaw, Method::kRollout};
  return settings;
}

ExplainRequest read_explain_request(std::string_view json) {
  Fields fields(parse_object(json));
  ExplainRequest request;
  ExplainOptions& options = request.options;
  options.settings = default_settings(kForExplain);
  fields.read("model", request.model);
  fields.read("text", request.text);
  if (request.text.empty()) fail("text: expected a text to explain, found none");
  fields.read("pair", request.pair);
  read_settings(fields, options.settings, kForExplain);
  fields.read("candidates", options.candidates);
  fields.read("referents", options.referents);
  read_certificates(fields, options);
  fields.read("only_output_token", options.only_output_token);
  fields.read("keep_attention", options.keep_attention);
  fields.read("truncate", options.truncate);
  fields.read("blank", options.blank, [](const std::string& text) { return parse_position_list("blank", text); });
  sort_once(options.blank);
  fields.read("compact", request.compact);
  // Flow is among the usual methods, and needs what this option saves.
  if (options.only_output_token && !fields.has("method")) options.settings.methods = {Method::kRaw, Method::kRollout};
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
  Fields fields(std::move(object));
  ImageRequest request;
  fields.read("model", request.model);
  fields.read("name", request.name);
  read_settings(fields, request.options.settings, kForImage);
  read_certificates(fields, request.options);
  fields.read("keep_attention", request.options.keep_attention);
  fields.read("compact", request.compact);
  fields.finish();
  validate(request.options.settings);
  return request;
}

GenerateRequest read_generate_request(std::string_view json) {
  Fields fields(parse_object(json));
  GenerateRequest request;
  GenerateOptions& options = request.options;
  options.settings = default_settings(kForGenerate);
  options.as_it_runs = true;  // for who watches, and the same for who does not
  fields.read("model", request.model);
  fields.read("prompt", request.prompt);
  if (request.prompt.empty()) fail("prompt: expected a text to continue, found none");
  read_settings(fields, options.settings, kForGenerate);
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
  fields.read("ignore_end", options.ignore_end);
  fields.read("generated_columns", options.generated_columns);
  fields.read("flow_tokens", options.flow_tokens,
              [](const std::string& text) { return parse_position_list("flow_tokens", text); });
  sort_once(options.flow_tokens);
  if (!options.flow_tokens.empty() && options.flow_tokens.back() >= options.tokens) {
    fail(fmt::format("flow_tokens: expected generated tokens from 0 to {}, found {}", options.tokens - 1,
                     options.flow_tokens.back()));
  }
  read_layers(fields, "flow_layers", options.flow_layers);
  if (!options.settings.wants(Method::kFlow) && !(options.flow_tokens.empty() && options.flow_layers.empty())) {
    fail("flow_tokens and flow_layers require method flow");
  }
  // Patterns of the command line are not here: a regular expression from a stranger may take any time.
  fields.read("exclude_stop_words", options.filter.stop_words);
  fields.read("exclude_punctuation", options.filter.punctuation);
  fields.read("exclude_special", options.filter.special);
  fields.read("exclude_tokens", options.filter.indices);
  fields.read("compact", request.compact);
  fields.finish();
  if (options.tokens == 0) fail("tokens: expected at least 1, found 0");
  if (options.settings.normalization == Normalization::kRow) {
    fail("normalize: expected none or receptive-field for a generation, found row");
  }
  const Sampler checked(options.sampling);  // throws for a temperature or share that is none
  validate(options.settings);
  return request;
}

EvaluateRequest read_evaluate_request(std::string_view json) {
  Fields fields(parse_object(json));
  EvaluateRequest request;
  ExplainOptions& options = request.options.explain;
  fields.read("model", request.model);
  fields.read("text", request.text);
  if (request.text.empty()) fail("text: expected a text to evaluate, found none");
  fields.read("pair", request.pair);
  read_settings(fields, options.settings, kForText);
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
