#pragma once

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/http/http_message.h"

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

}  // namespace attnflow
