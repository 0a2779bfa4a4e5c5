#include "attnflow/base/error.h"

#include <cstddef>

namespace attnflow {

std::string without_nul(std::string message) {
  for (std::size_t at = message.find('\0'); at != std::string::npos; at = message.find('\0', at)) {
    message.replace(at, 1, "\\x00");
  }
  return message;
}

Error::Error(ErrorKind kind, const std::string& message) : std::runtime_error(without_nul(message)), kind_(kind) {}

}  // namespace attnflow
