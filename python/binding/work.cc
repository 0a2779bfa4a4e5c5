#include "python/binding/work.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>

namespace attnflow::python {

namespace nb = nanobind;

void run_without_lock(const std::function<void(const ProgressFunction&, const std::stop_token&)>& work,
                      const std::optional<Progress>& progress) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kPause = std::chrono::milliseconds(50);  // a person does not notice it
  constexpr auto kLong = std::chrono::seconds(1);

  std::atomic<std::size_t> done = 0;
  std::atomic<std::size_t> total = 0;
  std::stop_source stop;
  std::exception_ptr of_python;
  std::future<void> ended;
  {
    const nb::gil_scoped_release released;
    ended = std::async(std::launch::async, [&] {
      const auto tell = [&](std::size_t now, std::size_t all) {
        total = all;
        done = now;
      };
      work(tell, stop.get_token());
    });
    const auto began = Clock::now();
    std::size_t shown = 0;
    while (ended.wait_for(kPause) != std::future_status::ready) {
      if (of_python) continue;
      try {
        const nb::gil_scoped_acquire acquired;
        if (PyErr_CheckSignals() != 0) nb::raise_python_error();
        const std::size_t now = done;
        if (progress && now != shown && Clock::now() - began > kLong) {
          shown = now;
          (*progress)(now, total.load());
        }
      } catch (...) {
        of_python = std::current_exception();
        stop.request_stop();
      }
    }
  }
  if (of_python) std::rethrow_exception(of_python);
  ended.get();
}

}  // namespace attnflow::python
