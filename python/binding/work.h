// Long work without the interpreter's lock, which Ctrl-C stops.
#pragma once

#include <nanobind/nanobind.h>

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>

#include "attnflow/base/progress.h"

namespace attnflow::python {

// Called with the work done and the total.
using Progress = nanobind::typed<nanobind::callable, void(std::size_t, std::size_t)>;

// An exception of Python in work of the library, which must not take it for an error of its own: no std::exception.
// raise_errors_in_python() raises it again in Python.
struct PassingThrough {
  std::exception_ptr raised;
};

// The thread that waits for work. The work may give it functions that need Python: what holds for that thread alone
// (autocast, hooks, Ctrl-C) then holds for them.
class Caller {
 public:
  // Runs the function there, with the interpreter's lock, and throws what it throws. One call at a time.
  void run(const std::function<void()>& function);

 private:
  friend void run_without_lock(
      const std::function<void(const ProgressFunction&, const std::stop_token&, Caller&)>& work,
      const std::optional<Progress>& progress);

  // For the waiting thread: runs what it is given, and returns at the end of work, or after a pause.
  bool serve();
  void end();

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* asked_ = nullptr;
  std::exception_ptr thrown_;
  bool done_ = false;   // the function that was asked for
  bool ended_ = false;  // all work
};

// Runs `work` on a new thread, without the lock, while this one handles signals and what the work gives it. After more
// than a second, progress(done, total), if any, is called whenever there is something new. An exception from a signal
// handler (KeyboardInterrupt) or `progress` stops the work and is thrown after it ends, as are the work's own. `work`
// must not need the lock, but through its Caller.
void run_without_lock(const std::function<void(const ProgressFunction&, const std::stop_token&, Caller&)>& work,
                      const std::optional<Progress>& progress);

}  // namespace attnflow::python
