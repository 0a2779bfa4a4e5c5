#include "attnflow/serve/api_error.h"

#include <cstddef>
#include <new>
#include <nlohmann/json.hpp>

#include "attnflow/analysis/memory_check.h"
#include "attnflow/base/error.h"

namespace attnflow {

std::string error_json(const std::string& kind, const std::string& message) {
  const nlohmann::ordered_json json = {{"error", {{"kind", kind}, {"message", message}}}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

HttpResponse error_response(unsigned status, const std::string& kind, const std::string& message) {
  HttpResponse response;
  response.status = status;
  response.headers.emplace_back("Cache-Control", "no-store");
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  response.body = error_json(kind, message);
  return response;
}

HttpResponse error_response(const ApiError& error) {
  return error_response(error.status(), error.kind(), error.what());
}

std::string with_field_names(const std::string& message) {
  std::string result;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const auto is_letter = [&](std::size_t at) {
      return at < message.size() && message[at] >= 'a' && message[at] <= 'z';
    };
    const bool begins = i == 0 || message[i - 1] == ' ' || message[i - 1] == '(' || message[i - 1] == '\'';
    if (begins && message.compare(i, 2, "--") == 0 && is_letter(i + 2)) {
      std::size_t end = i + 2;
      while (is_letter(end) || (end < message.size() && message[end] == '-' && is_letter(end + 1))) {
        result += message[end] == '-' ? '_' : message[end];
        ++end;
      }
      i = end - 1;
      continue;
    }
    if (i == 0 && message.starts_with("-n:")) {
      result += "tokens";
      i = 1;
      continue;
    }
    result += message[i];
  }
  return result;
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
    return {413, "too_large", "expected enough memory for this input, found none left; shorten it, or ask for less"};
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
