// What went wrong with a request, as the API says it.
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

// {"error": {"kind": KIND, "message": MESSAGE}}, with a line feed behind it.
std::string error_json(const std::string& kind, const std::string& message);

HttpResponse error_response(const ApiError& error);
HttpResponse error_response(unsigned status, const std::string& kind, const std::string& message);

// 503 queue_full: how many wait already, which the error names as "waiting", too, and when it is worth coming back.
HttpResponse queue_full_response(std::size_t waiting, std::size_t retry_after);

// What a failed analysis means to the client:
//
//   wrong options or input (usage)        400 bad_request
//   more tokens than positions            422 input_too_long
//   a model that cannot do what is asked  422 unsupported_model
//   a picture that is none, bad_input     422 bad_input (`input_is_file`: what was read is the client's, not ours)
//   not enough memory                     413 too_large
//   anything else                         500 internal
//
// Options of the command line in messages become fields: "--flow-tolerance: expected ..." is "flow_tolerance: ...".
ApiError api_error_of(const std::exception& error, bool input_is_file = false);

// The text with a model's name in the place of the path it was read from, which is this machine's own affair.
std::string without_path(std::string message, const std::string& path, const std::string& name);

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_API_ERROR_H_
