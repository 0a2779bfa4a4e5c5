// One table of the settings: their names, what they are as JSON, what they say in --help, who takes them.
//
// The command line's options, the fields of requests to the server and their schemas, and the settings of a report are
// made from this table. A new setting is a member of Settings (attribution/settings.h) and a row here.
//
// Example:
//
//     Settings settings;
//     for (const SettingOption& option : setting_options()) {
//       std::printf("--%s: %s\n", option.dashed().c_str(), option.help);
//       if (option.dashed() == "residual") option.set(settings, 0.25);
//     }
//     assert(settings.residual == 0.25);
//     check_ranges(settings);
#ifndef ATTNFLOW_ATTRIBUTION_SETTING_OPTIONS_H_
#define ATTNFLOW_ATTRIBUTION_SETTING_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "attnflow/attribution/settings.h"

namespace attnflow {

// A setting as a document has it.
using SettingValue =
    std::variant<bool, double, std::size_t, std::string, std::vector<std::string>, std::vector<std::size_t>>;

// What a text setting may be given as instead.
enum class SettingForm : std::uint8_t {
  kPlain,
  kNumberToo,     // 3 for "3"
  kPositionsToo,  // [0, 5] for "0,5"
  kRangesToo,     // "1-6" for [1, 2, 3, 4, 5, 6]
};

// Who takes a setting. (Commands and requests of the same name take the same.)
enum SettingUse : unsigned {
  kForExplain = 1U << 0U,
  kForImage = 1U << 1U,
  kForGenerate = 1U << 2U,
  kForText = 1U << 3U,          // evaluating one text (the server's /evaluate)
  kForCorrelations = 1U << 4U,  // evaluate agreement, sentiment, sentences
  kForEvidence = 1U << 5U,
  kForImageCurves = 1U << 6U,  // evaluate image
};

struct NumberRange {
  double low = 0.0;
  double high = std::numeric_limits<double>::infinity();
  bool below_high = false;     // high itself is no value
  const char* what = "value";  // for messages: "weight", "share"
};

struct SettingOption {
  const char* name;  // with underscores
  unsigned uses;     // of SettingUse
  bool shown;        // how values are shown, not what they are
  SettingForm form;
  const char* help;
  std::vector<const char*> words;  // the texts that it takes; empty: any text
  NumberRange range;               // of numbers
  SettingValue (*get)(const Settings& settings);
  // Throws Error(kUsage). Takes the type that get() gives, and layers as text, too.
  void (*set)(Settings& settings, const SettingValue& value);

  std::string dashed() const;  // "mask-columns"
};

// In the order of --help and of a report's settings.
std::span<const SettingOption> setting_options();

// Throws Error(kUsage) for a number out of its row's range.
void check_ranges(const Settings& settings);

}  // namespace attnflow

#endif  // ATTNFLOW_ATTRIBUTION_SETTING_OPTIONS_H_
