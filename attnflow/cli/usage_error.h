// Command-line errors in words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace attnflow {

// Describes a CLI11 error of `app`'s command line in attnflow's form (expected, found, what to do), or returns CLI11's
// own message if there is nothing to add. Suggests the most similar option for an unknown one.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace attnflow
