#include "attnflow/analysis/memory_check.h"

#include <fmt/format.h>

#include <optional>

#include "attnflow/base/available_memory.h"
#include "attnflow/base/error.h"

namespace attnflow {

void require_memory(std::size_t bytes, const std::string& what, const std::string& remedy) {
  const std::optional<std::size_t> available = available_memory();
  if (!available || bytes <= *available) return;
  constexpr double kMiB = 1024.0 * 1024.0;
  throw Error(ErrorKind::kOther,
              fmt::format("expected room for {}, {:.0f} MiB, found {:.0f} MiB of memory free. {}", what,
                          static_cast<double>(bytes) / kMiB, static_cast<double>(*available) / kMiB, remedy));
}

}  // namespace attnflow
