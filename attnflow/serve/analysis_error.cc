#include "attnflow/serve/analysis_error.h"

#include <new>

#include "attnflow/analysis/text/memory_check.h"
#include "attnflow/attribution/option_names.h"
#include "attnflow/base/error.h"

namespace attnflow {

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
