#pragma once

#include <fmt/format.h>

#include <utility>

#include "attnflow/base/error.h"

namespace attnflow::internal {

// Throws Error(kind) whose message is fmt::format(format, args...).
template <typename... Args>
[[noreturn]] void fail_with(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace attnflow::internal

namespace attnflow {
using internal::fail_with;
}
