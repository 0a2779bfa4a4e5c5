// The attnflow command, without its process: commands and options, messages, exit code.
#pragma once

#include <string>
#include <vector>

#include "attnflow/cli/console.h"

namespace attnflow {

// Runs 'attnflow ARGUMENT...' and returns its exit code; run_app() says what that is and what goes where. The arguments
// do not include the program's name. Throws nothing. One call at a time in a process.
int run_attnflow(std::vector<std::string> arguments, const Console& streams = {});

}  // namespace attnflow
