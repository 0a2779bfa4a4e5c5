#include "attnflow/analysis/sink_note.h"

#include <fmt/format.h>

namespace attnflow {
namespace {

constexpr double kMuch = 0.3;

}  // namespace

std::string sink_note(double share, std::string_view whose, std::string_view first_token, std::string_view remedy) {
  if (share < kMuch) return "";
  return fmt::format(
      "{:.0f}% of {} falls on the first token, '{}', on average over layers: decoders park there what "
      "they do not need. {}",
      100.0 * share, whose, first_token, remedy);
}

std::string next_sink_note(double share, std::string_view whose, std::string_view second_token) {
  if (share < kMuch) return "";
  return fmt::format(
      "With the first token set aside, the second, '{}', can draw on itself alone, so rollout gathers there: "
      "{:.0f}% of {}. --normalize receptive-field takes that advantage away.",
      second_token, 100.0 * share, whose);
}

}  // namespace attnflow
