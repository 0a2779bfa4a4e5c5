// Options by their names, as JSON has them: the fields of a request to the server, the keyword arguments of Python.
//
// They have the names of the command line's options with underscores and mean what they mean there, since both are made
// from the same tables (attribution/option.h). Values that are joined by commas on the command line may be a JSON list
// or such a text. Everything that is wrong throws Error(kUsage), whose message begins with the name: one that does not
// exist, one given twice, a value of a wrong type or out of range, JSON that does not parse or is nested deeper than
// any option needs.
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

// What may be asked for at most.
struct OptionLimits {
  std::size_t listed = std::numeric_limits<std::size_t>::max();       // entries of a list
  std::size_t layers_text = std::numeric_limits<std::size_t>::max();  // characters of "1-6,8"
  std::size_t top_k = std::numeric_limits<std::size_t>::max();
};

// The fields of an object, each read once. Reading one that is not there leaves the value as it is.
class OptionFields {
 public:
  // Of the text of an object.
  static OptionFields parse(std::string_view json, const OptionLimits& limits);
  explicit OptionFields(nlohmann::json object, const OptionLimits& limits)
      : object_(std::move(object)), limits_(limits) {}

  void read(const char* name, std::string& value);
  void read(const char* name, std::optional<std::string>& value);
  void read(const char* name, bool& value);

  // Reads the options of a table that `use` takes.
  template <typename Owner>
  void read(std::span<const Option<Owner>> table, Owner& owner, unsigned use) {
    for (const Option<Owner>& option : table) {
      if (!option.is_for(use)) continue;
      OptionValue value = option.get(owner);
      if (read_value(option, value)) option.set(owner, value);
    }
  }

  bool has(const char* name) const { return object_.contains(name); }

  // Call last: every field must be one that was asked for.
  void finish() const;

 private:
  const nlohmann::json* find(const char* name);
  // Returns false where the option is not given.
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
