// A loop over independent indices on several threads.
//
// The calling thread works too, together with helpers: threads that sleep between loops. A loop that wants more helpers
// than exist starts them, and they stay until the process ends. Loops that run at the same time (from several threads,
// or nested) share them. The caller takes whatever no helper has taken, so nested loops cannot deadlock.
//
// Keeping helpers pays off: a loop of two empty bodies takes 18 us if it starts and joins a thread and 5 us if it wakes
// a sleeping one, and a loop of eight 160 us and 30 us (two processors of an AMD EPYC). The matrix products of a
// forward pass are loops of a few hundred microseconds.
//
// Helpers keep the processor affinity and the signal mask of the thread whose loop started them. Within a loop they use
// the caller's floating-point environment (rounding mode, denormals), so that no bit of the result depends on which
// thread handled an index. A child of fork() has none of its parent's helpers and starts its own; a process that forks
// inside a body must not continue that loop in the child.
//
// Example:
//
//     std::vector<double> squares(1000);
//     parallel_for(squares.size(), {}, [&squares](std::size_t index, std::size_t) {
//       squares[index] = static_cast<double>(index) * static_cast<double>(index);  // no other call writes there
//     });
//     assert(squares[999] == 998001.0);
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

#include "attnflow/base/progress.h"

namespace attnflow {

struct ParallelOptions {
  std::size_t threads = 0;          // 0: one per hardware thread
  ProgressFunction progress = {};   // optional: called after each finished index
  std::stop_token stop_token = {};  // optional: checked before each index; when set, Cancelled is thrown
};

// The number of threads that `threads` requests (0: the hardware's), at least 1.
std::size_t resolve_threads(std::size_t threads);

// Calls body(index, worker) once for every index in [0, count). `worker` is in [0, resolve_threads(threads)) and no two
// concurrent calls share it, so it can index per-thread workspaces; the caller is worker 0. Indices are handed out in
// increasing order, but their threads vary, so `body` must write only to places owned by its index. The first exception
// thrown by a body stops the loop and is rethrown here.
void parallel_for(std::size_t count, const ParallelOptions& options,
                  const std::function<void(std::size_t index, std::size_t worker)>& body);

}  // namespace attnflow
