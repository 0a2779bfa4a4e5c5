#include "attnflow/cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "attnflow/cli/messages.h"

namespace attnflow {

ProgressBar::ProgressBar(std::string what, Elsewhere elsewhere)
    : what_(std::move(what)), elsewhere_(elsewhere), lines_(what_) {}

void ProgressBar::finish() {
  if (shown_) print_raw_message("\r\x1b[K");
  shown_ = false;
}

ProgressFunction ProgressBar::function() {
  if (isatty(STDERR_FILENO) == 0) {
    if (elsewhere_ == Elsewhere::kNothing) return {};
    return [this](std::size_t done, std::size_t total) {
      const double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
      if (const auto line = lines_.update(now, done, total)) print_message(*line);
    };
  }
  return [this](std::size_t done, std::size_t total) { update(done, total); };
}

void ProgressBar::update(std::size_t done, std::size_t total) {
  using std::chrono::duration;
  const auto now = std::chrono::steady_clock::now();
  if (!start_) start_ = now;
  const double elapsed = duration<double>(now - *start_).count();
  if (elapsed < 1.0 || (done != total && duration<double>(now - last_).count() < 0.1)) return;
  last_ = now;
  shown_ = true;
  constexpr std::size_t kCells = 30;
  const std::size_t filled = kCells * done / total;
  const double left = elapsed / static_cast<double>(done) * static_cast<double>(total - done);
  print_raw_message(fmt::format("\r{} [{:#<{}}{:.<{}}] {}/{}, {:.0f} s left\x1b[K", what_, "", filled, "",
                                kCells - filled, done, total, left));
}

}  // namespace attnflow
