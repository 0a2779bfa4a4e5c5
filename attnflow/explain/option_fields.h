// Options by their names, as JSON has them: the fields of a request to the server, the keyword arguments of Python.
//
// They have the names of the command line's options with underscores and mean what they mean there; the settings among
// them come from the table in attribution/setting_options.h. What several values are joined by commas on the command
// line may be a JSON list or such a text. Everything that is wrong throws Error(kUsage), whose message begins with the
// name: one that does not exist, one given twice, a value of a wrong type or out of range, JSON that does not parse or
// is nested deeper than any option needs.
#ifndef ATTNFLOW_EXPLAIN_OPTION_FIELDS_H_
#define ATTNFLOW_EXPLAIN_OPTION_FIELDS_H_

#include <cstddef>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/attribution/setting_options.h"

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
  void read(const char* name, double& value);
  void read(const char* name, std::size_t& value);
  // A list of texts, or one text with commas.
  void read(const char* name, std::vector<std::string>& value);
  // A list of whole numbers, or what `parse` reads.
  void read(const char* name, std::vector<std::size_t>& value,
            const std::function<std::vector<std::size_t>(const std::string&)>& parse);
  // Layers from 1, increasing, each once.
  void read_layers(const char* name, std::vector<std::size_t>& layers);
  // A list of texts with a comma in each, such as ["cls,5", "cls,6"], or one such text.
  void read_pairs(const char* name, std::vector<std::string>& pairs);
  // The settings that `use` takes.
  void read_settings(Settings& settings, SettingUse use);

  bool has(const char* name) const { return object_.contains(name); }

  // Call last: every field must be one that was asked for.
  void finish() const;

 private:
  const nlohmann::json* find(const char* name);
  void read_text_or_number(const char* name, std::string& value);
  void read_text_or_positions(const char* name, std::string& value);
  void limit(const char* name, std::size_t count) const;
  std::vector<std::string> split(const std::string& text) const;

  nlohmann::json object_;
  OptionLimits limits_;
  std::set<std::string, std::less<>> asked_;
};

// The settings of who names none.
Settings default_settings(SettingUse use);

// Each once, increasing.
void sort_once(std::vector<std::size_t>& values);

}  // namespace attnflow

#endif  // ATTNFLOW_EXPLAIN_OPTION_FIELDS_H_
