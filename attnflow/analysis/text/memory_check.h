#pragma once

#include <cstddef>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Thrown before anything is computed.
class NotEnoughMemory : public Error {
 public:
  explicit NotEnoughMemory(const std::string& message) : Error(ErrorKind::kOther, message) {}
};

// Throws NotEnoughMemory when `bytes` exceed what the machine could give (base/available_memory.h), or a nonzero
// `most`. The message names `what`, the sizes needed and available, and `remedy`, a sentence without its full stop.
void require_memory(std::size_t bytes, const std::string& what, const std::string& remedy, std::size_t most = 0);

// Bytes of the arrays of a report of n tokens whose settings and model are set, and of the graphs that they are
// computed from; the largest number if they overflow.
std::size_t report_bytes(const Report& report, const ExplainOptions& options, std::size_t n);

}  // namespace attnflow
