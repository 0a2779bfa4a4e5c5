// Progress of work that has several phases.
#ifndef ATTNFLOW_BASE_PHASE_START_H_
#define ATTNFLOW_BASE_PHASE_START_H_

#include <functional>
#include <string_view>

#include "attnflow/base/progress.h"

namespace attnflow {

// Called when a phase of the work starts, with what it counts; what it returns is told about that phase's progress.
using PhaseStart = std::function<ProgressFunction(std::string_view phase)>;

}  // namespace attnflow

#endif  // ATTNFLOW_BASE_PHASE_START_H_
