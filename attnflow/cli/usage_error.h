// Describes command-line errors in attnflow's form: expected, found, and what to do.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace attnflow {

// Returns the message for a CLI11 error while parsing `app`'s command line, or CLI11's own if there is nothing to add.
// For an unknown option it suggests the most similar one, if any is similar.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace attnflow
