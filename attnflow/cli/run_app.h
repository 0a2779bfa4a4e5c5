// Runs the command named on a program's command line, and reports errors.
#ifndef ATTNFLOW_CLI_RUN_APP_H_
#define ATTNFLOW_CLI_RUN_APP_H_

#include <CLI/CLI.hpp>

namespace attnflow {

// Parses the arguments, which run callbacks of `app`'s commands ('help COMMAND' is 'COMMAND --help'; without a command
// the help goes to standard error, which is a usage error), and returns the program's exit code: that of
// attnflow::ErrorKind for an error, whose message goes to standard error after the program's name. A failure to write
// standard output is also an error; a failure to write a message is not. A list of the command's files
// (files/command_files.h) exists while it runs. Throws nothing.
int run_app(CLI::App& app, int argc, char** argv);

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_RUN_APP_H_
