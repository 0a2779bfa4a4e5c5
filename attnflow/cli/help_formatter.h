// Formats a command's help to the terminal's width: CLI11 leaves wrapping to the terminal, which breaks lines anywhere.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace attnflow {

// Breaks at spaces, and puts each item of a list of choices, "a (...); b (...)", on its own lines.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;
};

}  // namespace attnflow
