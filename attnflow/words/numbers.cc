#include "attnflow/words/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attnflow::internal {

std::string percent(double share, int decimals) { return fmt::format("{:.{}f}%", 100.0 * share, decimals); }

std::string percent_of(std::size_t part, std::size_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string probability_percent(double probability) {
  const double value = 100.0 * probability;
  if (value > 0.0 && value < 0.01) return "<0.01%";
  return percent(probability, value > 0.0 && value < 0.1 ? 2 : 1);
}

std::string share_percent(double share) {
  if (share > 0.0 && share < 0.005) return "less than 1%";
  if (share < 1.0 && share >= 0.995) return "more than 99%";
  return percent(share);
}

std::string percent_range(double low, double high) {
  const std::string least = percent(low);
  const std::string most = percent(high);
  return least == most ? least : least + " to " + most;
}

std::string short_number(double value) { return fmt::format("{:.3g}", value); }

std::string about_time(double seconds) {
  constexpr double kMinute = 60.0;
  constexpr double kManySeconds = 1.5 * kMinute;
  constexpr double kManyMinutes = 90.0 * kMinute;
  const auto whole = [](double number) { return static_cast<std::size_t>(std::lround(number)); };
  if (seconds < kManySeconds) return counted(std::max(whole(seconds), std::size_t{1}), "second");
  if (seconds < kManyMinutes) return counted(whole(seconds / kMinute), "minute");
  return counted(whole(seconds / (kMinute * kMinute)), "hour");
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace attnflow::internal
