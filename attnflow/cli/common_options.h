// What several commands have in common: options that mean the same everywhere, and where they write.
#ifndef ATTNFLOW_CLI_COMMON_OPTIONS_H_
#define ATTNFLOW_CLI_COMMON_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/report/report.h"

namespace attnflow {

// For CLI::Option::check on unsigned options: CLI11 alone takes -1 for a very large number. Empty when all is well.
std::string whole_number(const std::string& text);

// Makes an option of several values take them from one argument, joined by commas, and from each time it is given:
// CLI11 alone takes every argument up to the next option, so `--method flow "The key"` would swallow the text.
CLI::Option* comma_list(CLI::Option* option);

// --method, --heads, --residual, --layers (kept as text) and --to-layer, in the help's group `group`.
void add_graph_options(CLI::App* command, ReportSettings& settings, std::string& layers, const char* group);

// --mixing and --target, in the help's group `group`: for commands that run a model with gradients.
void add_mixing_options(CLI::App* command, ReportSettings& settings, const char* group);

// --allow-unused-weights, in the help's group `group` (null: the usual one): for commands that read a model's folder.
void add_unused_weights_option(CLI::App* command, bool& allowed, const char* group = nullptr);

// Throws Error(kUsage) when two of the files that -o names are the same.
void check_different_outputs(const std::vector<std::string>& outputs);

// All of standard input, without the ends of line behind it: shells end input with one, which is no part of the text.
std::string read_standard_input();

// Columns of the terminal that standard output is; nothing when it is none or does not say.
std::optional<std::size_t> terminal_width();

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_COMMON_OPTIONS_H_
