// Long work without the interpreter's lock, which Ctrl-C stops.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>

#include "attnflow/base/progress.h"

namespace attnflow::python {

// Called with what is done and how much there is.
using Progress = nanobind::typed<nanobind::callable, void(std::size_t, std::size_t)>;

// Runs `work` on a thread of its own, without the lock, while this one looks after signals. Once the work has taken
// more than a second, progress(done, total), if any, is called whenever there is something new. An exception out of a
// signal's handler (KeyboardInterrupt) or out of `progress` stops the work and is thrown when it has ended; other
// exceptions are the work's own. What `work` refers to must not need the lock.
void run_without_lock(const std::function<void(const ProgressFunction&, const std::stop_token&)>& work,
                      const std::optional<Progress>& progress);

}  // namespace attnflow::python
