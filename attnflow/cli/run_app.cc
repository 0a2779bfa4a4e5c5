#include "attnflow/cli/run_app.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/cli/console.h"
#include "attnflow/cli/messages.h"
#include "attnflow/cli/usage_error.h"
#include "attnflow/files/command_files.h"

namespace attnflow {
namespace {

// The help shows commands with a group.
std::vector<std::string> visible_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return names;
}

std::string command_path(const CLI::App& command) {
  return command.get_parent() ? command_path(*command.get_parent()) + " " + command.get_name() : command.get_name();
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

// The command or task that the arguments begin with; CLI11 would only report a missing subcommand.
const CLI::App& named_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  for (const std::string& name : arguments) {
    const std::vector<std::string> names = visible_commands(*command);
    if (names.empty() || name.starts_with('-')) break;
    const CLI::App* const found = find_command(*command, name);
    if (found == nullptr) {
      std::vector<std::string> meant = names;
      if (command == &app) meant.emplace_back("help");  // read_help_command() handles it
      throw Error(ErrorKind::kUsage, fmt::format("expected a command of {0} ({1}), found '{2}'{3} (see '{0} --help')",
                                                 command_path(*command), fmt::join(names, ", "), name,
                                                 internal::did_you_mean(name, meant)));
    }
    command = found;
  }
  return *command;
}

void read_help_command(const CLI::App& app, std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "help" || find_command(app, "help") != nullptr) return;
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
}

}  // namespace

std::vector<std::string> command_arguments(int argc, char** argv) { return {argv + std::min(argc, 1), argv + argc}; }

int run_app(CLI::App& app, std::vector<std::string> arguments, const Console& streams) {
  const ConsoleScope scope(streams);
  const auto fail = [&](const std::string& message, int code) {
    print_message(fmt::format("{}: {}", app.get_name(), message));
    return code;
  };
  const std::string lost = "standard output could not be written";
  try {
    internal::CommandFiles files;
    read_help_command(app, arguments);
    const CLI::App& command = named_command(app, arguments);
    const bool has_option = std::any_of(arguments.begin(), arguments.end(),
                                        [](const std::string& argument) { return argument.starts_with('-'); });
    // Scripts learn that there is nothing to do, people what the choices are.
    if (!has_option && !visible_commands(command).empty()) {
      const CLI::App* const parent = command.get_parent();
      return fail(fmt::format("expected a command of {}, found none\n\n{}", command_path(command),
                              command.help(parent == nullptr ? "" : command_path(*parent))),
                  static_cast<int>(ErrorKind::kUsage));
    }
    try {
      std::reverse(arguments.begin(), arguments.end());  // in the order that CLI11 expects
      app.parse(std::move(arguments));
    } catch (const CLI::Success& success) {  // --help, --version
      std::ostringstream text;
      app.exit(success, text);
      fmt::print(console().out, "{}", text.str());
    }
  } catch (const CLI::ParseError& e) {
    return fail(usage_message(app, e), static_cast<int>(ErrorKind::kUsage));
  } catch (const Error& e) {
    return fail(e.what(), e.exit_code());
  } catch (const std::bad_alloc&) {
    return fail("out of memory for this input; shorten it or request less", static_cast<int>(ErrorKind::kOther));
  } catch (const std::exception& e) {
    return fail(std::ferror(streams.out) != 0 ? lost : e.what(), static_cast<int>(ErrorKind::kOther));
  }
  if (std::fflush(streams.out) != 0 || std::ferror(streams.out) != 0)
    return fail(lost, static_cast<int>(ErrorKind::kOther));
  return 0;
}

}  // namespace attnflow
