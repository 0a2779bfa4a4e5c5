// Shows progress on standard error: a bar on a terminal for work of more than a second; elsewhere, for work of more
// than ten seconds, an estimate and occasional lines (base/progress_lines.h).
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
  // `what` names the counted units or the work.
  explicit ProgressBar(std::string what);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { finish(); }
  // Clears the bar; must precede other output.
  void finish();
  // Must not outlive the bar.
  ProgressFunction function();

 private:
  void update(std::size_t done, std::size_t total);

  std::string what_;
  internal::ProgressLines lines_;
  // Set at the first unit of work, since loading a model does not count.
  std::optional<std::chrono::steady_clock::time_point> start_;
  std::chrono::steady_clock::time_point last_;
  std::size_t done_at_start_ = 0;
  std::size_t done_ = 0;  // at the last call; a smaller value starts other work
  bool shown_ = false;
};

// One bar per phase, and each phase's duration.
class Phases {
 public:
  // Ends the previous phase.
  ProgressFunction start(std::string_view phase);
  void finish();
  // Prints durations to standard error if they total at least a second.
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
