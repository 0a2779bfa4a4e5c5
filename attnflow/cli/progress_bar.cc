#include "attnflow/cli/progress_bar.h"

#include <fmt/format.h>

#include <utility>

#include "attnflow/cli/console.h"
#include "attnflow/cli/messages.h"

namespace attnflow {

ProgressBar::ProgressBar(std::string what) : what_(std::move(what)), lines_(what_) {}

void ProgressBar::finish() {
  if (shown_) print_raw_message("\r\x1b[K");
  shown_ = false;
}

ProgressFunction ProgressBar::function() {
  if (!is_terminal(console().err)) {
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
  if (!start_ || done < done_) {
    start_ = now;
    done_at_start_ = done;
  }
  done_ = done;
  const double elapsed = duration<double>(now - *start_).count();
  if (elapsed < 1.0 || done <= done_at_start_ || (done != total && duration<double>(now - last_).count() < 0.1)) {
    return;
  }
  last_ = now;
  shown_ = true;
  constexpr std::size_t kCells = 30;
  const std::size_t filled = kCells * done / total;
  const double left = elapsed / static_cast<double>(done - done_at_start_) * static_cast<double>(total - done);
  print_raw_message(fmt::format("\r{} [{:#<{}}{:.<{}}] {}/{}, {:.0f} s left\x1b[K", what_, "", filled, "",
                                kCells - filled, done, total, left));
}

ProgressFunction Phases::start(std::string_view phase) {
  finish();
  bar_ = std::make_unique<ProgressBar>(std::string(phase));
  name_ = phase;
  start_ = Clock::now();
  return bar_->function();
}

void Phases::finish() {
  if (!bar_) return;
  bar_.reset();
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  total_ += seconds;
  times_.push_back(fmt::format("{} {:.1f} s", name_, seconds));
}

void Phases::print() const {
  if (total_ >= 1.0) print_message(fmt::format("note: {:.1f} s: {}", total_, fmt::join(times_, ", ")));
}

}  // namespace attnflow
