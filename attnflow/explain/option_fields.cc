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

constexpr int kMaxDepth = 4;  // an object of lists has depth 2
constexpr std::size_t kMaxShown = 60;
constexpr double kMaxCount = 9007199254740992.0;  // 2^53: JSON readers agree on whole numbers up to this

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
  // JSON treats 3.0 as a whole number.
  if (given.is_number_float()) {
    const auto value = given.get<double>();
    if (value >= 0.0 && value <= kMaxCount && value == std::floor(value)) return static_cast<std::size_t>(value);
  }
  const bool is_too_large = given.is_number() && given.get<double>() > kMaxCount;
  wrong(name, is_too_large ? "a whole number of at most 9007199254740992" : expected, given);
}

std::string string_in(const char* name, const UnorderedJson& given) {
  if (!given.is_string()) wrong(name, "a list of strings", given);
  return given.get<std::string>();
}

std::string name_or_number(const char* name, const UnorderedJson& given) {
  if (given.is_string()) return given.get<std::string>();
  return std::to_string(whole(name, "strings or whole numbers in the list", given));
}

// "cls", 5 or ["cls", 5]
std::string pair_part(const char* name, const UnorderedJson& given) {
  if (!given.is_array()) return name_or_number(name, given);
  if (given.size() != 2) wrong(name, "lists of two, an output token and an input token", given);
  return name_or_number(name, given[0]) + "," + name_or_number(name, given[1]);
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
  if (const UnorderedJson* given = find(name); given != nullptr && !given->is_null()) read(name, value.emplace());
}

void OptionFields::read(const char* name, bool& value) {
  if (const UnorderedJson* given = find(name)) {
    if (!given->is_boolean()) wrong(name, "true or false", *given);
    value = given->get<bool>();
  }
}

bool OptionFields::read_value(const OptionInfo& option, OptionValue& value) {
  const UnorderedJson* given = find(option.name);
  if (given == nullptr || (given->is_null() && option.form == OptionForm::kNullToo)) return false;
  if (auto* const flag = std::get_if<bool>(&value)) {
    read(option.name, *flag);
  } else if (auto* const real = std::get_if<double>(&value)) {
    if (!given->is_number()) wrong(option.name, "a number", *given);
    *real = given->get<double>();
    if (!std::isfinite(*real)) wrong(option.name, "a finite number", *given);
  } else if (auto* const number = std::get_if<std::size_t>(&value)) {
    *number = whole(option.name, "a whole number of at least 0", *given);
    if (option.name == std::string_view("top_k") && *number > limits_.top_k) {
      fail_option(fmt::format("top_k: expected at most {}, found {}", limits_.top_k, *number));
    }
  } else if (std::holds_alternative<std::string>(value)) {
    value = text(option, *given);
  } else if (std::holds_alternative<std::vector<std::string>>(value)) {
    value = texts(option, *given);
  } else {
    value = numbers(option, *given);
  }
  return true;
}

std::string OptionFields::text(const OptionInfo& option, const UnorderedJson& given) const {
  if (given.is_string()) return given.get<std::string>();
  if (option.form == OptionForm::kNumberToo) {
    return std::to_string(whole(option.name, "a string or a whole number", given));
  }
  if (option.form == OptionForm::kPositionsToo) {
    const auto positions = whole_numbers(option.name, "a string or a list of positions", given);
    return positions.empty() ? "none" : fmt::format("{}", fmt::join(positions, ","));
  }
  if (option.form == OptionForm::kNamesToo && given.is_array() && !given.empty()) {
    std::vector<std::string> names;
    for (const UnorderedJson& one : given) {
      names.push_back(name_or_number(option.name, one));
      limit(option.name, names.size());
      if (given.size() > 1 && names.back().find(',') != std::string::npos) {
        wrong(option.name, "names without a comma in a list (a number stands for one with a comma)", one);
      }
    }
    return fmt::format("{}", fmt::join(names, ","));
  }
  wrong(option.name, "a text", given);
}

std::vector<std::string> OptionFields::texts(const OptionInfo& option, const UnorderedJson& given) const {
  std::vector<std::string> parts;
  if (given.is_string()) {
    parts = split(given.get<std::string>());
  } else {
    if (!given.is_array()) wrong(option.name, "a list of strings", given);
    for (const UnorderedJson& one : given) {
      parts.push_back(option.form == OptionForm::kPairs ? pair_part(option.name, one) : string_in(option.name, one));
      limit(option.name, parts.size());
    }
  }
  limit(option.name, parts.size());
  if (option.form != OptionForm::kPairs) return parts;
  // A comma separates the parts of a pair, which a text on its own also is.
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool joins = parts[i].find(',') == std::string::npos && i + 1 < parts.size();
    pairs.push_back(joins ? parts[i] + "," + parts[i + 1] : parts[i]);
    if (joins) ++i;
  }
  return pairs;
}

std::vector<std::size_t> OptionFields::numbers(const OptionInfo& option, const UnorderedJson& given) const {
  std::vector<std::size_t> values;
  if (given.is_string() && option.form != OptionForm::kIds) {
    const auto text = given.get<std::string>();
    if (text.size() > limits_.layers_text) {
      fail_option(
          fmt::format("{}: expected at most {} characters, found {}", option.name, limits_.layers_text, text.size()));
    }
    values = parse_numbers(option, text);
  } else {
    const bool ids = option.form == OptionForm::kIds;
    values =
        whole_numbers(option.name, ids ? "a list of token ids, such as [464, 3290]" : "a list of whole numbers", given);
  }
  if (option.form != OptionForm::kIds) sort_once(values);
  if (option.form == OptionForm::kLayers && !values.empty() && values.front() == 0) {
    fail_option(fmt::format("{}: expected layers from 1, found 0", option.name));
  }
  return values;
}

std::vector<std::size_t> OptionFields::whole_numbers(const char* name, const char* expected,
                                                     const UnorderedJson& given) const {
  std::vector<std::size_t> values;
  if (!given.is_array()) wrong(name, expected, given);
  for (const UnorderedJson& one : given) {
    values.push_back(whole(name, expected, one));
    limit(name, values.size());
  }
  return values;
}

void OptionFields::finish() const {
  for (const auto& [name, value] : object_.items()) {
    if (asked_.contains(name)) continue;
    fail_option(fmt::format("expected a known field, found {}{} (fields: {})", internal::quote_name(name, kMaxShown),
                            internal::did_you_mean(name, {asked_.begin(), asked_.end()}), fmt::join(asked_, ", ")));
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

}  // namespace attnflow
