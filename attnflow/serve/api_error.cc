#include "attnflow/serve/api_error.h"

#include <fmt/format.h>

#include <cstddef>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnflow/analysis/explain/memory_check.h"
#include "attnflow/attribution/option_names.h"
#include "attnflow/base/error.h"
#include "attnflow/unicode/escape_text.h"

namespace attnflow {

namespace {

std::string error_text(const nlohmann::ordered_json& error) {
  const nlohmann::ordered_json json = {{"error", error}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

HttpResponse error_answer(unsigned status, std::string body, std::size_t retry_after) {
  HttpResponse response;
  response.status = status;
  response.headers.emplace_back("Cache-Control", "no-store");
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (status == 503) response.headers.emplace_back("Retry-After", std::to_string(retry_after));
  response.body = std::move(body);
  return response;
}

}  // namespace

std::string error_json(const std::string& kind, const std::string& message) {
  // The message may quote client input.
  return error_text({{"kind", kind}, {"message", escape_text(message, "\n")}});
}

HttpResponse error_response(unsigned status, const std::string& kind, const std::string& message) {
  return error_answer(status, error_json(kind, message), 1);
}

HttpResponse queue_full_response(std::size_t waiting, std::size_t retry_after) {
  const std::string message = fmt::format(
      "too many requests at the same time: {} are waiting, which is the limit; retry in {} s", waiting, retry_after);
  return error_answer(503, error_text({{"kind", "queue_full"}, {"message", message}, {"waiting", waiting}}),
                      retry_after);
}

HttpResponse error_response(const ApiError& error) {
  return error_response(error.status(), error.kind(), error.what());
}

std::string without_path(std::string message, const std::string& path, const std::string& name) {
  if (path.empty()) return message;
  for (std::size_t at = message.find(path); at != std::string::npos; at = message.find(path, at + name.size())) {
    message.replace(at, path.size(), name);
  }
  return message;
}

ApiError api_error_of(const std::exception& error, bool input_is_file) {
  if (const auto* api = dynamic_cast<const ApiError*>(&error)) return *api;
  const std::string message = with_field_names(error.what());
  if (dynamic_cast<const NotEnoughMemory*>(&error) != nullptr) return {413, "too_large", message};
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {413, "too_large", "out of memory for this input; shorten it or request less"};
  }
  if (const auto* known = dynamic_cast<const Error*>(&error)) {
    switch (known->kind()) {
      case ErrorKind::kUsage:
        return {400, "bad_request", message};
      case ErrorKind::kInputTooLong:
        return {422, "input_too_long", message};
      case ErrorKind::kUnsupportedModel:
        return {422, "unsupported_model", message};
      case ErrorKind::kBadFile:
        if (input_is_file) return {422, "bad_input", message};
        break;
      case ErrorKind::kOther:
        break;
    }
  }
  return {500, "internal", message};
}

}  // namespace attnflow
