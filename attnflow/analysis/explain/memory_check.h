// Whether there is memory for what is about to be computed.
#pragma once

#include <cstddef>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/report/report.h"

namespace attnflow {

// There is not enough memory for what was asked. Nothing was computed.
class NotEnoughMemory : public Error {
 public:
  explicit NotEnoughMemory(const std::string& message) : Error(ErrorKind::kOther, message) {}
};

// Throws NotEnoughMemory when `bytes` are more than the machine could give (base/available_memory.h), or more than
// `most` where that is not 0: the message says what they are for, how much they and what there is are, and `remedy`, a
// sentence without its full stop.
void require_memory(std::size_t bytes, const std::string& what, const std::string& remedy, std::size_t most = 0);

// Bytes of the arrays of a report of n tokens whose settings and model are set, and of the graphs that they are
// computed from; the largest number where they have no number.
std::size_t report_bytes(const Report& report, const ExplainOptions& options, std::size_t n);

}  // namespace attnflow
