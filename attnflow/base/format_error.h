// Errors whose messages are made of parts: throw usage_error("--steps: expected 1 to {}, found {}", most, steps). Not
// part of the library's interface.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "attnflow/base/error.h"

namespace attnflow::internal {

template <typename... Parts>
Error usage_error(fmt::format_string<Parts...> message, Parts&&... parts) {
  return {ErrorKind::kUsage, fmt::format(message, std::forward<Parts>(parts)...)};
}

template <typename... Parts>
Error file_error(fmt::format_string<Parts...> message, Parts&&... parts) {
  return {ErrorKind::kBadFile, fmt::format(message, std::forward<Parts>(parts)...)};
}

template <typename... Parts>
Error model_error(fmt::format_string<Parts...> message, Parts&&... parts) {
  return {ErrorKind::kUnsupportedModel, fmt::format(message, std::forward<Parts>(parts)...)};
}

}  // namespace attnflow::internal
