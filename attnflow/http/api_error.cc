#include "attnflow/http/api_error.h"

#include <fmt/format.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnflow/unicode/escape_text.h"

namespace attnflow {

namespace {

std::string error_text(const nlohmann::ordered_json& error) {
  const nlohmann::ordered_json json = {{"error", error}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

HttpResponse error_answer(unsigned status, std::string body, std::size_t retry_after) {
  HttpResponse response{.status = status};
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

}  // namespace attnflow
