// A progress bar on standard error, for work that takes more than a second, and only on a terminal.
#ifndef ATTNFLOW_CLI_PROGRESS_BAR_H_
#define ATTNFLOW_CLI_PROGRESS_BAR_H_

#include <chrono>
#include <optional>
#include <string>

#include "attnflow/base/progress.h"

namespace attnflow {

class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { finish(); }
  // Wipes the bar. Called before anything else is printed.
  void finish();
  // Empty when standard error is not a terminal. Must not outlive the bar.
  ProgressFunction function();

 private:
  void update(std::size_t done, std::size_t total);

  std::string what_;
  // When the first unit of work was done: loading a model is not part of the work.
  std::optional<std::chrono::steady_clock::time_point> start_;
  std::chrono::steady_clock::time_point last_;
  bool shown_ = false;
};

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_PROGRESS_BAR_H_
