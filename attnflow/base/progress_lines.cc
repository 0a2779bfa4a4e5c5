#include "attnflow/base/progress_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace attnflow::internal {
namespace {

std::string duration_text(double seconds) {
  constexpr double kMinute = 60.0;
  constexpr double kHour = 3600.0;
  if (seconds < 2.0 * kMinute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2.0 * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  return fmt::format("{:.1f} h", seconds / kHour);
}

}  // namespace

ProgressLines::ProgressLines(std::string what, double every) : what_(std::move(what)), every_(every) {}

std::optional<std::string> ProgressLines::update(double seconds, std::size_t done, std::size_t total) {
  if (!start_ || done < done_) {
    start_ = last_ = seconds;
    done_at_start_ = done;
    estimated_ = false;
  }
  done_ = done;
  if (done >= total || done <= done_at_start_) return std::nullopt;
  constexpr double kSure = 1.0;         // seconds, before the first estimate, and at the end without lines
  constexpr double kOfTheWhole = 0.05;  // of the whole time, between two lines
  const double elapsed = seconds - *start_;
  const double left = elapsed / static_cast<double>(done - done_at_start_) * static_cast<double>(total - done);
  const bool estimates = !estimated_ && elapsed >= kSure && left >= every_;
  if (!estimates && (left < kSure || seconds - last_ < std::max(every_, kOfTheWhole * (elapsed + left)))) {
    return std::nullopt;
  }
  last_ = seconds;
  estimated_ = true;
  return fmt::format("{}: {} of {}, about {} left", what_, done, total, duration_text(left));
}

}  // namespace attnflow::internal
