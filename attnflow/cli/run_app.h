// Runs the command that a command line names, and reports errors.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "attnflow/cli/console.h"

namespace attnflow {

// Without the program's name.
std::vector<std::string> command_arguments(int argc, char** argv);

// Parses the arguments, which runs the callbacks of `app`'s commands, and returns the exit code: for an error that of
// attnflow::ErrorKind, with a message to streams.err after the program's name. 'help COMMAND' is 'COMMAND --help'; no
// command is a usage error, with the help on streams.err. An unwritable output stream is an error; an unwritable
// message is not. Meanwhile `streams` is the console, and there is a list of the command's files
// (files/command_files.h). Throws nothing.
int run_app(CLI::App& app, std::vector<std::string> arguments, const Console& streams = {});

}  // namespace attnflow
