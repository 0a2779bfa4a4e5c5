#include "attnflow/analysis/generate/chat_prompt.h"

#include <cstddef>

#include "attnflow/base/error.h"

namespace attnflow {
namespace {

// No template has it, and none changes it: letters, no white space to strip.
constexpr std::string_view kOurs = "AttnflowSystemTurn";

}  // namespace

std::optional<std::string> own_system_turn(const TextCodec& codec, std::string_view prompt) {
  std::string with;
  std::string without;
  try {
    without = codec.chat({{"user", std::string(prompt)}});
    with = codec.chat({{"system", std::string(kOurs)}, {"user", std::string(prompt)}});
  } catch (const Error&) {
    return std::nullopt;  // templates may refuse a system's turn
  }
  const std::size_t place = with.find(kOurs);
  if (place == std::string::npos) return std::nullopt;
  const std::string_view before = std::string_view(with).substr(0, place);
  const std::string_view behind = std::string_view(with).substr(place + kOurs.size());
  if (without.size() < before.size() + behind.size() || !without.starts_with(before) || !without.ends_with(behind)) {
    return std::nullopt;
  }
  std::string own = without.substr(before.size(), without.size() - before.size() - behind.size());
  // A system's text that goes into the user's turn without anything around it leaves nothing behind, and no turn.
  if (own.empty() && before.find("system") == std::string_view::npos) return std::nullopt;
  return own;
}

}  // namespace attnflow
