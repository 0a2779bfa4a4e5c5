// The attnflow command, without its process: commands and options, messages, exit code.
#pragma once

#include <string>
#include <vector>

#include "attnflow/cli/console.h"

namespace attnflow {

// Runs 'attnflow ARGUMENT...' (without the program's name) and returns its exit code, as run_app() does. Throws
// nothing. One call at a time per process.
int run_attnflow(std::vector<std::string> arguments, const Console& streams = {});

}  // namespace attnflow
