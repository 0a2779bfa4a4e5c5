#include "python/binding/work.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>

namespace attnflow::python {
namespace {

namespace nb = nanobind;

// What the working thread tells the waiting one.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t done = 0;
  std::size_t total = 0;
  bool ended = false;
};

}  // namespace

void run_without_lock(const std::function<void(const ProgressFunction&, const std::stop_token&)>& work,
                      const nb::object& progress) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::milliseconds(50);  // a person does not notice it
  constexpr auto kLong = std::chrono::seconds(1);

  Mailbox box;
  std::stop_source stop;
  std::exception_ptr of_work;
  std::exception_ptr of_python;
  const ProgressFunction tell = [&box](std::size_t done, std::size_t total) {
    const std::lock_guard lock(box.mutex);
    box.done = done;
    box.total = total;
  };
  {
    const nb::gil_scoped_release released;
    const std::jthread worker([&] {
      try {
        work(tell, stop.get_token());
      } catch (...) {
        of_work = std::current_exception();
      }
      const std::lock_guard lock(box.mutex);
      box.ended = true;
      box.changed.notify_one();
    });
    const auto began = Clock::now();
    std::size_t shown = 0;
    std::unique_lock lock(box.mutex);
    while (!box.changed.wait_for(lock, kPause, [&box] { return box.ended; })) {
      if (of_python) continue;
      const std::size_t done = box.done;
      const std::size_t total = box.total;
      lock.unlock();
      try {
        const nb::gil_scoped_acquire acquired;
        if (PyErr_CheckSignals() != 0) nb::raise_python_error();
        if (!progress.is_none() && done != shown && Clock::now() - began > kLong) {
          shown = done;
          progress(done, total);
        }
      } catch (...) {
        of_python = std::current_exception();
        stop.request_stop();
      }
      lock.lock();
    }
  }
  if (of_python) std::rethrow_exception(of_python);
  if (of_work) std::rethrow_exception(of_work);
}

}  // namespace attnflow::python
