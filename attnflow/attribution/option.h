// Options as table rows: a name, the value's form, what it does, and who takes it.
//
// Command-line options, request fields with their schemas, Python's keyword arguments and a report's settings are all
// generated from such rows. Each options struct has one table: Settings (attribution/setting_options.h), ExplainOptions
// (explain/explain_options.h), and GenerateOptions (analysis/generate/generate_options.h). A new option is a member of
// the struct, a row of its table, and the code that reads the member.
//
// Example:
//
//     struct Choice { bool loud = false; };
//     const auto row = option<&Choice::loud>("loud", kForExplain, "Say it loudly");
//     Choice choice;
//     row.set(choice, true);
//     assert(choice.loud && row.dashed() == "loud");
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace attnflow {

using OptionValue =
    std::variant<bool, double, std::size_t, std::string, std::vector<std::string>, std::vector<std::size_t>>;

// Other accepted forms of a value, or restrictions on it.
enum class OptionForm : std::uint8_t {
  kPlain,
  kNumberToo,     // a text: 3 for "3"
  kPositionsToo,  // a text: [0, 5] for "0,5"
  kNamesToo,      // a text: ["his", 5] for "his,5", whose names have no comma
  kNullToo,       // a text: null for none
  kOneEach,       // texts: one at a time, since each may contain commas
  kPairs,         // texts: each has one comma, "cls,5"; also ["cls", 5], and [["cls", 5], [1, 2]] for two
  kLayers,        // whole numbers from 1, increasing: "1-3,6" for [1, 2, 3, 6]
  kPositions,     // whole numbers, increasing: "0,5" for [0, 5]
  kIds,           // whole numbers in the given order
};

// An option is taken by the command line ("Command"), the server ("Request") or others.
enum OptionUse : unsigned {
  kExplainCommand = 1U << 0U,
  kExplainRequest = 1U << 1U,
  kImageCommand = 1U << 2U,
  kImageRequest = 1U << 3U,
  kGenerateCommand = 1U << 4U,
  kGenerateRequest = 1U << 5U,
  kEvaluateRequest = 1U << 6U,  // of one text
  kForCorrelations = 1U << 7U,  // evaluate agreement, sentiment, sentences
  kForEvidence = 1U << 8U,      // evaluate evidence
  kForImageCurves = 1U << 9U,   // evaluate image
  kForArrays = 1U << 10U,       // Python's attribute()
  kForValues = 1U << 11U,       // Python's raw(), rollout() and flow()
  kForModels = 1U << 12U,       // Python's explain()
  kForGenerations = 1U << 13U,  // Python's generate()
  kForExplain = kExplainCommand | kExplainRequest,
  kForImage = kImageCommand | kImageRequest,
  kForGenerate = kGenerateCommand | kGenerateRequest,
  kForReports = kForArrays | kForValues | kForModels,  // in Python, all but generations
};

struct NumberRange {
  double low = 0.0;
  double high = std::numeric_limits<double>::infinity();
  bool below_high = false;     // exclude high itself
  const char* what = "value";  // for messages: "weight", "share"
  bool above_low = false;      // exclude low itself
};

// Columns that most rows leave at their defaults.
struct OptionDetails {
  const char* group = "Analysis";  // heading in --help
  const char* type = nullptr;      // the value's name in --help; nullptr: from its type
  const char* letter = nullptr;    // "-n"
  OptionForm form = OptionForm::kPlain;
  std::vector<const char*> words = {};  // allowed texts; empty: any
  NumberRange range = {};               // of numbers
};

struct OptionInfo : OptionDetails {
  const char* name = "";  // with underscores
  unsigned uses = 0;      // bits of OptionUse
  const char* help = "";  // for --help

  std::string dashed() const;      // "mask-columns"
  std::string field_help() const;  // help for requests and Python, with fields instead of options
  bool is_for(unsigned asked) const { return (uses & asked) != 0; }
};

template <typename Owner>
struct Option : OptionInfo {
  OptionValue (*get)(const Owner& owner) = nullptr;
  // Requires the type that get() returns. Throws Error(kUsage).
  void (*set)(Owner& owner, const OptionValue& value) = nullptr;
};

// Parses a text such as "1-3,6" by the option's form. Throws Error(kUsage), which names the option.
std::vector<std::size_t> parse_numbers(const OptionInfo& option, const std::string& text);

void sort_once(std::vector<std::size_t>& values);

// Conversions for members whose type OptionValue contains. Other types have overloads next to their table.
template <typename Plain>
OptionValue to_value(const Plain& value) {
  return value;
}
template <typename Plain>
void from_value(const OptionValue& from, Plain& value) {
  value = std::get<Plain>(from);
}
inline OptionValue to_value(const std::optional<std::string>& value) { return value.value_or(""); }
inline void from_value(const OptionValue& from, std::optional<std::string>& value) {
  value = std::get<std::string>(from);
}

namespace option_members {

template <typename Owner, typename Value>
Owner owner_of(Value Owner::*);

template <auto First, auto... Rest>
auto& member(auto& owner) {
  if constexpr (sizeof...(Rest) == 0) {
    return owner.*First;
  } else {
    return member<Rest...>(owner.*First);
  }
}

}  // namespace option_members

template <auto First, auto... Rest>
auto option(const char* name, unsigned uses, const char* help, OptionDetails details = {}) {
  using Owner = decltype(option_members::owner_of(First));
  return Option<Owner>{
      {std::move(details), name, uses, help},
      [](const Owner& owner) { return to_value(option_members::member<First, Rest...>(owner)); },
      [](Owner& owner, const OptionValue& value) { from_value(value, option_members::member<First, Rest...>(owner)); }};
}

}  // namespace attnflow
