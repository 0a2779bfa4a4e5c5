// What options are called in messages: by the command line's names, in which messages are written, or as fields.
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
  kFields,  // top_k: of requests and of Python
};

// A message with options of the command line spelled as fields: "--flow-tolerance: expected ..." is
// "flow_tolerance: ...". What stands in quotes, single or double, is a user's and stays.
std::string with_field_names(const std::string& message);

}  // namespace attnflow
