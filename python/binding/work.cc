#include "python/binding/work.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <utility>

namespace attnflow::python {

namespace nb = nanobind;

void Caller::run(const std::function<void()>& function) {
  std::unique_lock lock(mutex_);
  done_ = false;
  asked_ = &function;
  changed_.notify_all();
  changed_.wait(lock, [this] { return done_; });
  if (const std::exception_ptr thrown = std::exchange(thrown_, nullptr)) std::rethrow_exception(thrown);
}

bool Caller::serve() {
  constexpr auto kPause = std::chrono::milliseconds(50);  // a person does not notice it
  const std::function<void()>* asked = nullptr;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPause, [this] { return ended_ || asked_ != nullptr; });
    asked = std::exchange(asked_, nullptr);
    if (asked == nullptr) return ended_;
  }
  std::exception_ptr thrown;
  try {
    const nb::gil_scoped_acquire acquired;
    (*asked)();
  } catch (nb::python_error&) {
    thrown = std::make_exception_ptr(PassingThrough{std::current_exception()});
  } catch (...) {
    thrown = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  thrown_ = thrown;
  done_ = true;
  changed_.notify_all();
  return false;
}

void Caller::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void run_without_lock(const std::function<void(const ProgressFunction&, const std::stop_token&, Caller&)>& work,
                      const std::optional<Progress>& progress) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kLong = std::chrono::seconds(1);

  std::atomic<std::size_t> done = 0;
  std::atomic<std::size_t> total = 0;
  std::stop_source stop;
  std::exception_ptr of_python;
  std::future<void> ended;
  Caller caller;
  {
    const nb::gil_scoped_release released;
    ended = std::async(std::launch::async, [&] {
      const auto tell = [&](std::size_t now, std::size_t all) {
        total = all;
        done = now;
      };
      try {
        work(tell, stop.get_token(), caller);
      } catch (...) {
        caller.end();
        throw;
      }
      caller.end();
    });
    const auto began = Clock::now();
    std::size_t shown = 0;
    while (!caller.serve()) {
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
    ended.wait();
  }
  if (of_python) std::rethrow_exception(of_python);
  ended.get();
}

}  // namespace attnflow::python
