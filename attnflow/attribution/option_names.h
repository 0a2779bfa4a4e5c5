// Option names in messages: messages are written with command-line names, and can be converted to field names.
//
// Example:
//
//     assert(with_field_names("--top-k: expected 1, found '--x'") == "top_k: expected 1, found '--x'");
#pragma once

#include <cstdint>
#include <string>

namespace attnflow {

enum class OptionNames : std::uint8_t {
  kShell,   // --top-k
  kFields,  // top_k: requests and Python
};

// Returns the message with command-line options spelled as fields: "--flow-tolerance: ..." becomes "flow_tolerance:
// ...". Text in single or double quotes comes from users and is unchanged.
std::string with_field_names(const std::string& message);

}  // namespace attnflow
