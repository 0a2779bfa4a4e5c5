#include "attnflow/cli/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/base/suggestion.h"

namespace attnflow {
namespace {

// The deepest command found.
const CLI::App& command_of(const CLI::App& app) {
  const CLI::App* command = &app;
  for (auto found = command->get_subcommands(); !found.empty(); found = command->get_subcommands()) {
    command = found.front();
  }
  return *command;
}

std::string full_name(const CLI::App& command) {
  return command.get_parent() ? full_name(*command.get_parent()) + " " + command.get_name() : command.get_name();
}

std::string nearest_option(const CLI::App& command, std::string_view typed) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return internal::nearest_name(typed, names);
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kRenamed = {
    {{"--most-megapixels", "--max-megapixels"},
     {"--to-layer", "--start-layer"},
     {"--set-aside", "--mask-columns"},
     {"--drop-sink", "--mask-columns first"},
     {"--drop-stop-words", "--exclude-stop-words"},
     {"--drop-punctuation", "--exclude-punctuation"},
     {"--drop-special", "--exclude-special"},
     {"--drop-matching", "--exclude-matching"},
     {"--drop-tokens", "--exclude-tokens"}}};

std::string unexpected(const CLI::App& app, const std::vector<std::string>& extras) {
  const CLI::App& command = command_of(app);
  const std::string help = fmt::format("see '{} --help'", full_name(command));
  const auto option = std::find_if(extras.begin(), extras.end(),
                                   [](const std::string& extra) { return extra.size() > 1 && extra[0] == '-'; });
  if (option == extras.end()) {
    return fmt::format("unexpected argument '{}'; quote a text of several words ({})", fmt::join(extras, " "), help);
  }
  const std::string typed = option->substr(0, option->find('='));
  for (const auto& [before, now] : kRenamed) {
    if (typed == before) return fmt::format("{} is now {}", before, now);
  }
  const std::string nearest = typed.starts_with("--") ? nearest_option(command, typed) : "";
  if (nearest.empty()) return fmt::format("{} has no option {}; {}", full_name(command), typed, help);
  return fmt::format("{} has no option {}; did you mean {}? ({})", full_name(command), typed, nearest, help);
}

std::string value_kind(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  const std::string type = option ? option->get_type_name() : "";
  if (type.starts_with("FLOAT")) return "a number";
  if (type.starts_with("UINT")) return "a whole number of at least 0";
  if (type.starts_with("INT")) return "a whole number";
  return type.empty() ? "a value of a different type" : type;
}

}  // namespace

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const std::string text = error.what();
  const CLI::App& command = command_of(app);
  const std::string help = fmt::format("see '{} --help'", full_name(command));
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
    const std::vector<std::string> extras = app.remaining(true);
    if (!extras.empty()) return unexpected(app, extras);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error)) {
    // "Could not convert: --residual = abc"
    const std::string begin = "Could not convert: ";
    const std::size_t equals = text.find(" = ");
    if (text.starts_with(begin) && equals != std::string::npos) {
      const std::string name = text.substr(begin.size(), equals - begin.size());
      return fmt::format("{}: expected {}, found '{}'; {}", name, value_kind(command, name), text.substr(equals + 3),
                         help);
    }
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    // "--top-k: 1 required INT missing"
    const std::size_t colon = text.find(": 1 required ");
    if (colon != std::string::npos && text.ends_with(" missing")) {
      return fmt::format("{}: expected a value, found none; {}", text.substr(0, colon), help);
    }
    // "--top-k: At Most 1 required but received 2"
    const std::string_view most = ": At Most ";
    const std::string_view received = " required but received ";
    const std::size_t begin = text.find(most);
    const std::size_t end = text.find(received);
    if (begin != std::string::npos && end != std::string::npos && begin < end) {
      const std::string allowed = text.substr(begin + most.size(), end - begin - most.size());
      return fmt::format("{}: expected at most {} value{}, found {}; {}", text.substr(0, begin), allowed,
                         allowed == "1" ? "" : "s", text.substr(end + received.size()), help);
    }
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error)) {
    // "PICTURE is required"; "A subcommand is required"
    if (text.ends_with(" is required")) {
      std::string what = text.substr(0, text.size() - std::string_view(" is required").size());
      if (what == "A subcommand") what = "a command of " + full_name(command);
      const std::vector<std::string> extras = app.remaining(true);
      if (!extras.empty()) return fmt::format("expected {}, found {}; {}", what, fmt::join(extras, " "), help);
      return fmt::format("expected {}, found none; {}", what, help);
    }
  }
  return fmt::format("{}; {}", text, help);
}

}  // namespace attnflow
