#include "attnflow/analysis/generate/chat_prompt.h"

#include <algorithm>
#include <utility>

#include "attnflow/base/error.h"

namespace attnflow {
namespace {

// A text that no turn or template contains, and that no template changes: letters, no white space to strip.
std::string text_of_ours(const std::vector<ChatMessage>& messages) {
  std::string ours = "AttnflowTurn";
  const auto has_it = [&](const ChatMessage& message) { return message.text.find(ours) != std::string::npos; };
  while (std::any_of(messages.begin(), messages.end(), has_it)) ours += "X";
  return ours;
}

struct Around {
  std::string before;
  std::string behind;
};

// `messages` with our text in one turn, split there; nothing if the template refuses, or does not show the turn.
std::optional<Around> around_turn(const TextCodec& codec, std::vector<ChatMessage> messages, std::size_t turn) {
  const std::string ours = text_of_ours(messages);
  messages[turn].text = ours;
  std::string text;
  try {
    text = codec.chat(messages);
  } catch (const Error&) {
    return std::nullopt;
  }
  const std::size_t place = text.find(ours);
  if (place == std::string::npos) return std::nullopt;
  return Around{text.substr(0, place), text.substr(place + ours.size())};
}

// The part of `text` that takes the place of ours.
std::optional<TextSpan> between(std::string_view text, const Around& around) {
  const bool fits = text.size() >= around.before.size() + around.behind.size() && text.starts_with(around.before) &&
                    text.ends_with(around.behind);
  if (!fits) return std::nullopt;
  return TextSpan{around.before.size(), text.size() - around.behind.size()};
}

}  // namespace

ChatPrompt chat_prompt(const TextCodec& codec, const std::optional<std::string>& system, const std::string& user) {
  std::vector<ChatMessage> messages;
  if (system) messages.push_back({"system", *system});
  messages.push_back({"user", user});
  ChatPrompt prompt{codec.chat(messages), {}};
  for (std::size_t turn = 0; turn < messages.size(); ++turn) {
    const std::optional<Around> around = around_turn(codec, messages, turn);
    if (!around) continue;  // the template leaves that turn out
    const std::optional<TextSpan> written = between(prompt.text, *around);
    if (!written) return {std::move(prompt.text), {}};
    if (written->begin < written->end) prompt.written.push_back(*written);
  }
  return prompt;
}

std::optional<std::string> own_system_turn(const TextCodec& codec, std::string_view prompt) {
  const ChatMessage user{"user", std::string(prompt)};
  const std::optional<Around> around = around_turn(codec, {{"system", ""}, user}, 0);
  if (!around) return std::nullopt;  // templates may refuse a system's turn
  std::string without;
  try {
    without = codec.chat({user});
  } catch (const Error&) {
    return std::nullopt;
  }
  const std::optional<TextSpan> span = between(without, *around);
  if (!span) return std::nullopt;
  std::string own = without.substr(span->begin, span->end - span->begin);
  // A system text that is merged into the user's turn leaves no turn when it is absent.
  if (own.empty() && around->before.find("system") == std::string::npos) return std::nullopt;
  return own;
}

}  // namespace attnflow
