// Numbers on the command line.
#ifndef ATTNFLOW_CLI_NUMBER_OPTION_H_
#define ATTNFLOW_CLI_NUMBER_OPTION_H_

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

namespace attnflow {

// For CLI::Option::check on unsigned options: CLI11 alone takes -1 for a very large number. Empty when all is well.
inline std::string whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (!text.empty() && error == std::errc{} && end == text.data() + text.size()) return "";
  return fmt::format("expected a whole number of at least 0, found '{}'", text);
}

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_NUMBER_OPTION_H_
