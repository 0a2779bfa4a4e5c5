#include "attnflow/base/progress_lines.h"

#include <fmt/format.h>

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
  if (!start_) {
    start_ = last_ = seconds;
    done_at_start_ = done;
  }
  if (seconds - last_ < every_ || done >= total || done <= done_at_start_) return std::nullopt;
  last_ = seconds;
  const double each = (seconds - *start_) / static_cast<double>(done - done_at_start_);
  return fmt::format("{}: {} of {}, about {} left", what_, done, total,
                     duration_text(each * static_cast<double>(total - done)));
}

}  // namespace attnflow::internal
