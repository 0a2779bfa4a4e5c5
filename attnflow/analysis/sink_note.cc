#include "attnflow/analysis/sink_note.h"

#include <fmt/format.h>

namespace attnflow {

std::string sink_note(double share, std::string_view whose, std::string_view first_token, std::string_view remedy) {
  constexpr double kMuch = 0.3;
  if (share < kMuch) return "";
  return fmt::format(
      "{:.0f}% of {} falls on the first token, '{}', on average over layers: decoders park there what they do not "
      "need. "
      "{}",
      100.0 * share, whose, first_token, remedy);
}

}  // namespace attnflow
