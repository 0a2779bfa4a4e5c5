// Options as JSON fields, in requests to the server and Python's keyword arguments.
//
// Names and meanings are those of the command line's options, with underscores, from the same tables
// (attribution/option.h). Comma-separated values may be a JSON list or such a text. All errors throw Error(kUsage),
// whose message begins with the name: an unknown or repeated field, a value of the wrong type or out of range, and JSON
// that does not parse or is nested deeper than any option needs.
#pragma once

#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/attribution/option.h"

namespace attnflow {

struct OptionLimits {
  std::size_t listed = std::numeric_limits<std::size_t>::max();       // list entries
  std::size_t layers_text = std::numeric_limits<std::size_t>::max();  // characters of "1-6,8"
  std::size_t top_k = std::numeric_limits<std::size_t>::max();
};

// The fields of an object, each read once. Reading an absent field leaves the value unchanged.
class OptionFields {
 public:
  static OptionFields parse(std::string_view json, const OptionLimits& limits);
  explicit OptionFields(nlohmann::json object, const OptionLimits& limits)
      : object_(std::move(object)), limits_(limits) {}

  void read(const char* name, std::string& value);
  void read(const char* name, std::optional<std::string>& value);
  void read(const char* name, bool& value);

  template <typename Owner>
  void read(std::span<const Option<Owner>> table, Owner& owner, unsigned use) {
    for (const Option<Owner>& option : table) {
      if (!option.is_for(use)) continue;
      OptionValue value = option.get(owner);
      if (read_value(option, value)) option.set(owner, value);
    }
  }

  bool has(const char* name) const { return object_.contains(name); }

  // Call last: throws if a field was not read.
  void finish() const;

 private:
  const nlohmann::json* find(const char* name);
  bool read_value(const OptionInfo& option, OptionValue& value);
  std::string text(const OptionInfo& option, const nlohmann::json& given) const;
  std::vector<std::string> texts(const OptionInfo& option, const nlohmann::json& given) const;
  std::vector<std::size_t> numbers(const OptionInfo& option, const nlohmann::json& given) const;
  std::vector<std::size_t> whole_numbers(const char* name, const char* expected, const nlohmann::json& given) const;
  void limit(const char* name, std::size_t count) const;
  std::vector<std::string> split(const std::string& text) const;

  nlohmann::json object_;
  OptionLimits limits_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace attnflow
