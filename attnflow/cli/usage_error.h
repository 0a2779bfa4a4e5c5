// What is wrong with a command line, in attnflow's words: expected, found, and what to do.
#ifndef ATTNFLOW_CLI_USAGE_ERROR_H_
#define ATTNFLOW_CLI_USAGE_ERROR_H_

#include <CLI/CLI.hpp>
#include <string>

namespace attnflow {

// The message for an error of CLI11 while it parsed `app`'s command line; CLI11's own where there is nothing to add.
// An option that does not exist is answered with the one whose name is nearest, if one is near.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_USAGE_ERROR_H_
