// Progress and cancellation of long work, without terminal output in the library.
//
// Example:
//
//     std::stop_source stop;
//     const ProgressFunction progress = [&stop](std::size_t done, std::size_t) {
//       if (done == 2) stop.request_stop();  // or from another thread, when the user cancels
//     };
//     try {
//       attention_flow(graph, {.threads = 1, .progress = progress, .stop_token = stop.get_token()});  // flow/flow.h
//     } catch (const Cancelled&) {  // no output is left half-written
//     }
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string_view>

#include "attnflow/base/error.h"

namespace attnflow {

// Called with the finished and the total units of work. Calls never overlap, but they may come from any thread; `done`
// never decreases. Must not throw.
using ProgressFunction = std::function<void(std::size_t done, std::size_t total)>;

// Called when a phase of the work starts, with the name of the units it counts; returns the function that receives that
// phase's progress. May be empty.
using PhaseStart = std::function<ProgressFunction(std::string_view phase)>;

// Thrown by long work whose std::stop_token was triggered. No output is left half-written.
class Cancelled : public Error {
 public:
  Cancelled() : Error(ErrorKind::kOther, "cancelled before the work was finished") {}
};

}  // namespace attnflow
