// The help of a command as wide as the terminal: CLI11 leaves long lines to it, which breaks them anywhere.
#ifndef ATTNFLOW_CLI_HELP_FORMATTER_H_
#define ATTNFLOW_CLI_HELP_FORMATTER_H_

#include <CLI/CLI.hpp>
#include <string>

namespace attnflow {

// Breaks descriptions at spaces, and gives each item of a list of choices, "a (...); b (...)", lines of its own.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;
};

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_HELP_FORMATTER_H_
