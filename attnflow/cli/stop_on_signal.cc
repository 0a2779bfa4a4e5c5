#include "attnflow/cli/stop_on_signal.h"

#include <atomic>
#include <chrono>
#include <csignal>

namespace attnflow {
namespace {

std::atomic<int> interrupted = 0;
static_assert(std::atomic<int>::is_always_lock_free, "what a signal handler writes");

void on_signal(int signal) {
  if (interrupted != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  interrupted = 1;
}

}  // namespace

StopOnSignal::StopOnSignal()
    : watcher_([this](const std::stop_token& done) {
        constexpr auto kPause = std::chrono::milliseconds(50);
        while (!done.stop_requested()) {
          if (interrupted != 0) source_.request_stop();
          std::this_thread::sleep_for(kPause);
        }
      }) {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

StopOnSignal::~StopOnSignal() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace attnflow
