// Options as rows of tables: a name, what the value looks like, what it does, and who takes it.
//
// The command line's options, the fields of requests to the server with their schemas, the keyword arguments of Python
// and the settings of a report are all made from such rows. Each struct of options has one table beside it: Settings
// (attribution/setting_options.h), ExplainOptions (explain/explain_options.h), and GenerateOptions
// (analysis/generate/generate_options.h). A new option is a member of the struct, a row of its table, and the code that
// reads the member.
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

// An option's value, with the type that it has in a document.
using OptionValue =
    std::variant<bool, double, std::size_t, std::string, std::vector<std::string>, std::vector<std::size_t>>;

// What else a value may be given as, or which of the values of its type it may be.
enum class OptionForm : std::uint8_t {
  kPlain,
  kNumberToo,     // a text: 3 for "3"
  kPositionsToo,  // a text: [0, 5] for "0,5"
  kNullToo,       // a text: null for none
  kOneEach,       // texts: given one at a time, since each may contain commas
  kPairs,         // texts: each with one comma, "cls,5"
  kLayers,        // whole numbers from 1, increasing: "1-3,6" for [1, 2, 3, 6]
  kPositions,     // whole numbers, increasing: "0,5" for [0, 5]
  kIds,           // whole numbers in the given order
};

// Who takes an option. "Command" is the command line's, "request" the server's.
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
  kForGenerations = 1U << 13U,  // Python's explain_generation() and generate()
  kForExplain = kExplainCommand | kExplainRequest,
  kForImage = kImageCommand | kImageRequest,
  kForGenerate = kGenerateCommand | kGenerateRequest,
  kForReports = kForArrays | kForValues | kForModels,  // in Python, all but generations
};

struct NumberRange {
  double low = 0.0;
  double high = std::numeric_limits<double>::infinity();
  bool below_high = false;     // high itself is not a value
  const char* what = "value";  // for messages: "weight", "share"
  bool above_low = false;      // low itself is not a value
};

// Columns of a row that most rows leave out.
struct OptionDetails {
  const char* group = "Analysis";  // heading in --help
  const char* type = nullptr;      // placeholder in --help; nullptr: by the value's type
  const char* letter = nullptr;    // "-n"
  OptionForm form = OptionForm::kPlain;
  std::vector<const char*> words = {};  // the texts it may be; empty: any text
  NumberRange range = {};               // of numbers
};

struct OptionInfo : OptionDetails {
  const char* name = "";  // with underscores
  unsigned uses = 0;      // of OptionUse
  const char* help = "";  // for --help

  std::string dashed() const;      // "mask-columns"
  std::string field_help() const;  // the help for requests and Python, which have fields instead of options
  bool is_for(unsigned asked) const { return (uses & asked) != 0; }
};

template <typename Owner>
struct Option : OptionInfo {
  OptionValue (*get)(const Owner& owner) = nullptr;
  // Takes the type that get() returns. Throws Error(kUsage).
  void (*set)(Owner& owner, const OptionValue& value) = nullptr;
};

// Converts texts such as "1-3,6" to numbers, by the option's form. Throws Error(kUsage), which names the option.
std::vector<std::size_t> parse_numbers(const OptionInfo& option, const std::string& text);

// Sorts numbers and removes duplicates.
void sort_once(std::vector<std::size_t>& values);

// Conversions of members that have a type of OptionValue. Other types have overloads beside their table.
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

namespace internal {

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

}  // namespace internal

// A row for a member, or for a member of a member.
template <auto First, auto... Rest>
auto option(const char* name, unsigned uses, const char* help, OptionDetails details = {}) {
  using Owner = decltype(internal::owner_of(First));
  return Option<Owner>{
      {std::move(details), name, uses, help},
      [](const Owner& owner) { return to_value(internal::member<First, Rest...>(owner)); },
      [](Owner& owner, const OptionValue& value) { from_value(value, internal::member<First, Rest...>(owner)); }};
}

}  // namespace attnflow
