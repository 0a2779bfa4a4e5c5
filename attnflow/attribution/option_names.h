// Option names in messages: messages are written with command-line names, and can be converted to field names, or to
// Python's keyword arguments with their values.
//
// Example:
//
//     assert(with_field_names("--top-k: expected 1, found '--x'") == "top_k: expected 1, found '--x'");
//     assert(with_field_names("--mask-columns first masks it", OptionNames::kPython) ==
//            "mask_columns=\"first\" masks it");
#pragma once

#include <cstdint>
#include <string>

namespace attnflow {

enum class OptionNames : std::uint8_t {
  kShell,   // --top-k
  kFields,  // top_k: requests
  kPython,  // likewise, and mixing="attention" for --mixing attention
};

// Returns the message with command-line options spelled as fields: "--flow-tolerance: ..." becomes "flow_tolerance:
// ...". Text in single or double quotes comes from users and is unchanged. kShell: the message itself. kPython: a word
// behind an option is its value if the option takes such a value (attribution/setting_options.h).
std::string with_field_names(const std::string& message, OptionNames names = OptionNames::kFields);

}  // namespace attnflow
