// Throws errors whose messages are formatted.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "attnflow/base/error.h"

namespace attnflow::internal {

template <typename... Values>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Values...> message, Values&&... values) {
  throw Error(kind, fmt::format(message, std::forward<Values>(values)...));
}

// Throws errors about a file, whose messages begin with its name.
class ErrorsOf {
 public:
  explicit ErrorsOf(std::string source) : source_(std::move(source)) {}

  const std::string& source() const { return source_; }
  template <typename... Values>
  [[noreturn]] void damaged(fmt::format_string<Values...> message, Values&&... values) const {
    fail(ErrorKind::kBadFile, "{}: {}", source_, fmt::format(message, std::forward<Values>(values)...));
  }
  template <typename... Values>
  [[noreturn]] void unsupported(fmt::format_string<Values...> message, Values&&... values) const {
    fail(ErrorKind::kUnsupportedModel, "{}: {}", source_, fmt::format(message, std::forward<Values>(values)...));
  }

 private:
  std::string source_;
};

}  // namespace attnflow::internal
