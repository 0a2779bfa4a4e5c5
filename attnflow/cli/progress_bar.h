// Shows progress on standard error: on a terminal, a bar for work that takes more than a second; elsewhere, for work
// that takes more than ten seconds, an estimate and then an occasional line (base/progress_lines.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/base/progress.h"
#include "attnflow/base/progress_lines.h"

namespace attnflow {

class ProgressBar {
 public:
  // `what` names the units counted, or the work done.
  explicit ProgressBar(std::string what);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { finish(); }
  // Clears the bar. Must be called before anything else is printed.
  void finish();
  // Must not outlive the bar.
  ProgressFunction function();

 private:
  void update(std::size_t done, std::size_t total);

  std::string what_;
  internal::ProgressLines lines_;
  // When the first unit of work was done, because loading a model is not part of the work.
  std::optional<std::chrono::steady_clock::time_point> start_;
  std::chrono::steady_clock::time_point last_;
  std::size_t done_at_start_ = 0;
  std::size_t done_ = 0;  // at the last call; a smaller value starts other work
  bool shown_ = false;
};

// Shows a bar for one phase of the work at a time, and records how long each took.
class Phases {
 public:
  // Ends the previous phase.
  ProgressFunction start(std::string_view phase);
  void finish();
  // Prints each phase's duration to standard error if they took at least a second in total.
  void print() const;

 private:
  using Clock = std::chrono::steady_clock;
  std::unique_ptr<ProgressBar> bar_;
  std::string name_;
  Clock::time_point start_;
  double total_ = 0.0;
  std::vector<std::string> times_;
};

}  // namespace attnflow
