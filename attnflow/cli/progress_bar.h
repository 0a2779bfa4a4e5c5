// A progress bar on standard error, for work that takes more than a second, and only on a terminal.
#ifndef ATTNFLOW_CLI_PROGRESS_BAR_H_
#define ATTNFLOW_CLI_PROGRESS_BAR_H_

#include <chrono>
#include <string>

#include "attnflow/base/progress.h"

namespace attnflow {

class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  // Wipes the bar.
  ~ProgressBar();
  // Empty when standard error is not a terminal. Must not outlive the bar.
  ProgressFunction function();

 private:
  void update(std::size_t done, std::size_t total);

  std::string what_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
  bool shown_ = false;
};

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_PROGRESS_BAR_H_
