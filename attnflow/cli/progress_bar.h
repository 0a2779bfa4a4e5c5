// Progress on standard error: on a terminal a bar, for work that takes more than a second; elsewhere, where asked for,
// a line every ten seconds.
#ifndef ATTNFLOW_CLI_PROGRESS_BAR_H_
#define ATTNFLOW_CLI_PROGRESS_BAR_H_

#include <chrono>
#include <optional>
#include <string>

#include "attnflow/base/progress.h"
#include "attnflow/base/progress_lines.h"

namespace attnflow {

class ProgressBar {
 public:
  enum class Elsewhere { kNothing, kLines };
  // `what` is counted, or is done. `elsewhere`: what comes where standard error is no terminal; lines are for work that
  // goes on for minutes.
  explicit ProgressBar(std::string what, Elsewhere elsewhere = Elsewhere::kNothing);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() { finish(); }
  // Wipes the bar. Called before anything else is printed.
  void finish();
  // Empty when there is nothing to say it on. Must not outlive the bar.
  ProgressFunction function();

 private:
  void update(std::size_t done, std::size_t total);

  std::string what_;
  Elsewhere elsewhere_;
  internal::ProgressLines lines_;
  // When the first unit of work was done: loading a model is not part of the work.
  std::optional<std::chrono::steady_clock::time_point> start_;
  std::chrono::steady_clock::time_point last_;
  bool shown_ = false;
};

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_PROGRESS_BAR_H_
