// Long work without the interpreter's lock, which Ctrl-C stops.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>

#include "attnflow/base/progress.h"

namespace attnflow::python {

// Called with the work done and the total.
using Progress = nanobind::typed<nanobind::callable, void(std::size_t, std::size_t)>;

// Runs `work` on a new thread, without the lock, while this one handles signals. After more than a second,
// progress(done, total), if any, is called whenever there is something new. An exception from a signal handler
// (KeyboardInterrupt) or `progress` stops the work and is thrown after it ends, as are the work's own. `work` must not
// need the lock.
void run_without_lock(const std::function<void(const ProgressFunction&, const std::stop_token&)>& work,
                      const std::optional<Progress>& progress);

}  // namespace attnflow::python
