// Analyses' failures as errors of the API.
#pragma once

#include <exception>
#include <string>

#include "attnflow/http/api_error.h"

namespace attnflow {

// Converts an analysis's failure to an error of the API:
//
//   wrong options or input (usage)        400 bad_request
//   more tokens than positions            422 input_too_long
//   a model that does not support it      422 unsupported_model
//   an invalid file sent by the client    422 bad_input (with `input_is_file`; otherwise a bad file is the server's)
//   not enough memory                     413 too_large
//   anything else                         500 internal
//
// Command-line options become fields: "--flow-tolerance: expected ..." is "flow_tolerance: ...".
ApiError api_error_of(const std::exception& error, bool input_is_file = false);

// Replaces the model's path, which is private to this machine, with its name.
std::string without_path(std::string message, const std::string& path, const std::string& name);

}  // namespace attnflow
