// Ctrl-C as a request to stop.
#pragma once

#include <stop_token>
#include <thread>

namespace attnflow {

// During this object's life, Ctrl-C and SIGTERM request a stop; a second one ends the program. Only one object may
// exist at a time.
class StopOnSignal {
 public:
  StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
  ~StopOnSignal();

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread watcher_;
};

}  // namespace attnflow
