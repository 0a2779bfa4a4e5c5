// A loop over independent indices on several threads.
#ifndef ATTNFLOW_BASE_PARALLEL_FOR_H_
#define ATTNFLOW_BASE_PARALLEL_FOR_H_

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

// The number of threads that `threads` stands for (0: the hardware's), at least 1.
std::size_t resolve_threads(std::size_t threads);

// Calls body(index, worker) once for every index in [0, count). `worker` is in [0, resolve_threads(threads)) and no two
// concurrent calls share it, so per-thread workspaces can be indexed by it. Indices are handed out in increasing order;
// which thread gets which is not deterministic, so `body` must write only to places owned by its index.
// The first exception thrown by a body stops the loop and is thrown again here.
void parallel_for(std::size_t count, const ParallelOptions& options,
                  const std::function<void(std::size_t index, std::size_t worker)>& body);

}  // namespace attnflow

#endif  // ATTNFLOW_BASE_PARALLEL_FOR_H_
