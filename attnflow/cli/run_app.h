// What a program does with its command line: runs the command that it names, and says what went wrong.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "attnflow/cli/console.h"

namespace attnflow {

// The arguments of main(), without the program's name.
std::vector<std::string> command_arguments(int argc, char** argv);

// Parses the arguments, which runs the callbacks of `app`'s commands, and returns the exit code: that of
// attnflow::ErrorKind for an error, whose message goes to streams.err after the program's name. 'help COMMAND' is
// 'COMMAND --help'; without a command the help goes to streams.err, and that is a usage error. An output stream that
// could not be written is an error, too; a message that could not be written is not. While the command runs, `streams`
// is the console, and there is a list of the command's files (files/command_files.h). Throws nothing.
int run_app(CLI::App& app, std::vector<std::string> arguments, const Console& streams = {});

}  // namespace attnflow
