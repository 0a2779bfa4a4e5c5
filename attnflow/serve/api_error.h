// Request errors, in the API's form.
#ifndef ATTNFLOW_SERVE_API_ERROR_H_
#define ATTNFLOW_SERVE_API_ERROR_H_

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/serve/http_message.h"

namespace attnflow {

class ApiError : public std::runtime_error {
 public:
  ApiError(unsigned status, std::string kind, const std::string& message)
      : std::runtime_error(without_nul(message)), status_(status), kind_(std::move(kind)) {}
  unsigned status() const noexcept { return status_; }
  const std::string& kind() const noexcept { return kind_; }

 private:
  unsigned status_;
  std::string kind_;
};

// Returns {"error": {"kind": KIND, "message": MESSAGE}} with a trailing line feed.
std::string error_json(const std::string& kind, const std::string& message);

HttpResponse error_response(const ApiError& error);
HttpResponse error_response(unsigned status, const std::string& kind, const std::string& message);

// 503 queue_full: the number of waiting jobs, which the error also contains as "waiting", and when to retry.
HttpResponse queue_full_response(std::size_t waiting, std::size_t retry_after);

// Converts the failure of an analysis to a client error:
//
//   wrong options or input (usage)        400 bad_request
//   more tokens than positions            422 input_too_long
//   a model that does not support it      422 unsupported_model
//   an invalid image, bad_input           422 bad_input (`input_is_file`: the client sent the file that was read)
//   not enough memory                     413 too_large
//   anything else                         500 internal
//
// Command-line options in messages become fields: "--flow-tolerance: expected ..." is "flow_tolerance: ...".
ApiError api_error_of(const std::exception& error, bool input_is_file = false);

// Replaces the path that a model was read from, which is private to this machine, with the model's name.
std::string without_path(std::string message, const std::string& path, const std::string& name);

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_API_ERROR_H_
