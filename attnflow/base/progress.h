// Progress and cancellation of long work, without a terminal in the library.
#ifndef ATTNFLOW_BASE_PROGRESS_H_
#define ATTNFLOW_BASE_PROGRESS_H_

#include <cstddef>
#include <functional>
#include <stop_token>

#include "attnflow/base/error.h"

namespace attnflow {

// Called with the finished and the total units of work. Calls never overlap, but they may come from any thread; `done`
// never decreases. Must not throw.
using ProgressFunction = std::function<void(std::size_t done, std::size_t total)>;

// Thrown by long work whose std::stop_token was triggered. Nothing is left half-written.
class Cancelled : public Error {
 public:
  Cancelled() : Error(ErrorKind::kOther, "cancelled before the work was finished") {}
};

}  // namespace attnflow

#endif  // ATTNFLOW_BASE_PROGRESS_H_
