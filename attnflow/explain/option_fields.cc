#include "attnflow/explain/option_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

#include "attnflow/base/error.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"

namespace attnflow {
namespace {

using UnorderedJson = nlohmann::json;

constexpr int kMaxDepth = 4;  // an object of lists has 2
constexpr std::size_t kMaxShown = 60;
constexpr double kMaxCount = 9007199254740992.0;  // 2^53: whole numbers that JSON readers agree on

[[noreturn]] void fail_option(const std::string& message) { throw Error(ErrorKind::kUsage, message); }

std::string show(const UnorderedJson& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return internal::show_json(value);
}

UnorderedJson parse_object(std::string_view text) {
  std::vector<std::set<std::string>> names;
  const auto check = [&](int depth, UnorderedJson::parse_event_t event, UnorderedJson& value) {
    if (depth > kMaxDepth) fail_option(fmt::format("expected JSON nested at most {} deep, found more", kMaxDepth));
    if (event == UnorderedJson::parse_event_t::object_start) names.emplace_back();
    if (event == UnorderedJson::parse_event_t::object_end) names.pop_back();
    if (event == UnorderedJson::parse_event_t::key && !names.back().insert(value.get<std::string>()).second) {
      fail_option(fmt::format("expected each field once, found {} twice", show(value)));
    }
    return true;
  };
  UnorderedJson json;
  try {
    json = UnorderedJson::parse(text.begin(), text.end(), check);
  } catch (const UnorderedJson::exception& error) {
    constexpr std::size_t kMaxReason = 160;
    fail_option(fmt::format("expected a JSON object, found text that does not parse: {}",
                            internal::quote_name(internal::json_reason(error), kMaxReason)));
  }
  if (!json.is_object()) fail_option(fmt::format("expected a JSON object, found {}", show(json)));
  return json;
}

[[noreturn]] void wrong(const char* name, const char* expected, const UnorderedJson& found) {
  fail_option(fmt::format("{}: expected {}, found {}", name, expected, show(found)));
}

std::size_t whole(const char* name, const char* expected, const UnorderedJson& given) {
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

}  // namespace

OptionFields OptionFields::parse(std::string_view json, const OptionLimits& limits) {
  return OptionFields(parse_object(json), limits);
}

void OptionFields::read(const char* name, std::string& value) {
  if (const UnorderedJson* given = find(name)) {
    if (!given->is_string()) wrong(name, "a text", *given);
    value = given->get<std::string>();
  }
}

void OptionFields::read(const char* name, std::optional<std::string>& value) {
  if (const UnorderedJson* given = find(name); given != nullptr && !given->is_null()) {
    if (!given->is_string()) wrong(name, "a text", *given);
    value = given->get<std::string>();
  }
}

// A text, or a whole number: heads, output_token.
void OptionFields::read_text_or_number(const char* name, std::string& value) {
  const UnorderedJson* given = find(name);
  if (given == nullptr) return;
  if (given->is_string()) {
    value = given->get<std::string>();
  } else {
    value = std::to_string(whole(name, "a string or a whole number", *given));
  }
}

void OptionFields::read(const char* name, bool& value) {
  if (const UnorderedJson* given = find(name)) {
    if (!given->is_boolean()) wrong(name, "true or false", *given);
    value = given->get<bool>();
  }
}

void OptionFields::read(const char* name, double& value) {
  if (const UnorderedJson* given = find(name)) {
    if (!given->is_number()) wrong(name, "a number", *given);
    value = given->get<double>();
    if (!std::isfinite(value)) wrong(name, "a finite number", *given);
  }
}

void OptionFields::read(const char* name, std::size_t& value) {
  if (const UnorderedJson* given = find(name)) value = whole(name, "a whole number of at least 0", *given);
}

void OptionFields::read(const char* name, std::vector<std::string>& value) {
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

void OptionFields::read(const char* name, std::vector<std::size_t>& value,
                        const std::function<std::vector<std::size_t>(const std::string&)>& parse) {
  const UnorderedJson* given = find(name);
  if (given == nullptr) return;
  if (given->is_string()) {
    const auto text = given->get<std::string>();
    if (text.size() > limits_.layers_text) {
      fail_option(fmt::format("{}: expected at most {} characters, found {}", name, limits_.layers_text, text.size()));
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
void OptionFields::read_text_or_positions(const char* name, std::string& value) {
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

void OptionFields::read_layers(const char* name, std::vector<std::size_t>& layers) {
  read(name, layers, [](const std::string& text) { return parse_layers(text); });
  sort_once(layers);
  if (!layers.empty() && layers.front() == 0) {
    fail_option(fmt::format("{}: expected layers from 1, found 0", name));
  }
}

void OptionFields::read_pairs(const char* name, std::vector<std::string>& pairs) {
  // One text is one pair, whose parts have a comma between them.
  std::vector<std::string> parts;
  read(name, parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool joins = parts[i].find(',') == std::string::npos && i + 1 < parts.size();
    pairs.push_back(joins ? parts[i] + "," + parts[i + 1] : parts[i]);
    if (joins) ++i;
  }
}

void OptionFields::read_settings(Settings& settings, SettingUse use) {
  for (const SettingOption& option : setting_options()) {
    if ((option.uses & use) == 0) continue;
    SettingValue value = option.get(settings);
    if (auto* const layers = std::get_if<std::vector<std::size_t>>(&value)) {
      read_layers(option.name, *layers);
    } else if (auto* const text = std::get_if<std::string>(&value);
               text != nullptr && option.form != SettingForm::kPlain) {
      if (option.form == SettingForm::kNumberToo) read_text_or_number(option.name, *text);
      if (option.form == SettingForm::kPositionsToo) read_text_or_positions(option.name, *text);
    } else {
      const auto read_plain = [&](auto& plain) {
        using Plain = std::decay_t<decltype(plain)>;
        if constexpr (!std::is_same_v<Plain, std::vector<std::size_t>>) read(option.name, plain);
      };
      std::visit(read_plain, value);
    }
    option.set(settings, value);
  }
  if (settings.top_k > limits_.top_k) {
    fail_option(fmt::format("top_k: expected at most {}, found {}", limits_.top_k, settings.top_k));
  }
}

void OptionFields::finish() const {
  for (const auto& [name, value] : object_.items()) {
    if (asked_.contains(name)) continue;
    fail_option(fmt::format("expected fields among {}, found {}{}", fmt::join(asked_, ", "),
                            internal::quote_name(name, kMaxShown),
                            internal::did_you_mean(name, {asked_.begin(), asked_.end()})));
  }
}

const UnorderedJson* OptionFields::find(const char* name) {
  asked_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

void OptionFields::limit(const char* name, std::size_t count) const {
  if (count > limits_.listed) {
    fail_option(fmt::format("{}: expected at most {} entries, found more", name, limits_.listed));
  }
}

std::vector<std::string> OptionFields::split(const std::string& text) const {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(',', begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos || parts.size() > limits_.listed) return parts;
    begin = end + 1;
  }
}

Settings default_settings(SettingUse use) {
  Settings settings;
  if (use == kForExplain || use == kForGenerate) settings.mixing = Mixing::kAuto;
  if (use == kForGenerate) settings.methods = {Method::kRaw, Method::kRollout};
  return settings;
}

void sort_once(std::vector<std::size_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace attnflow
