// What a program does with its command line: runs the command that it names, and says what went wrong.
#ifndef ATTNFLOW_CLI_RUN_APP_H_
#define ATTNFLOW_CLI_RUN_APP_H_

#include <CLI/CLI.hpp>

namespace attnflow {

// Parses the arguments, which run callbacks of `app`'s commands ('help COMMAND' is 'COMMAND --help'; without a command
// the help goes to standard error, which is a usage error), and returns the program's exit code: that of
// attnflow::ErrorKind for an error, whose message goes to standard error behind the program's name. Standard output
// that could not be written is an error too; a message that could not be written is not. While it runs there is a list
// of the command's files (files/command_files.h). It throws nothing.
int run_app(CLI::App& app, int argc, char** argv);

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_RUN_APP_H_
