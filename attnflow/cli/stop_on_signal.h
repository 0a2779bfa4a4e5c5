// Ctrl-C as a request to stop, not an end.
#ifndef ATTNFLOW_CLI_STOP_ON_SIGNAL_H_
#define ATTNFLOW_CLI_STOP_ON_SIGNAL_H_

#include <stop_token>
#include <thread>

namespace attnflow {

// While it lives, Ctrl-C and SIGTERM ask the work to stop instead of ending the program; a second one ends it. One at a
// time.
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

#endif  // ATTNFLOW_CLI_STOP_ON_SIGNAL_H_
