#include "attnflow/cli/stop_on_signal.h"

#include <chrono>
#include <csignal>

namespace attnflow {
namespace {

volatile std::sig_atomic_t interrupted = 0;

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
