#include "attnflow/cli/run_app.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/cli/messages.h"
#include "attnflow/cli/usage_error.h"
#include "attnflow/files/command_files.h"

namespace attnflow {
namespace {

// CLI11 would only say that a subcommand is missing.
void check_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == argv[1]) return;
    // A command without a group is not in the help either.
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  const std::string last = names.back();
  names.pop_back();
  throw Error(ErrorKind::kUsage, fmt::format("expected a command ({} or {}), found '{}'; see '{} --help'",
                                             fmt::join(names, ", "), last, argv[1], app.get_name()));
}

}  // namespace

int run_app(CLI::App& app, int argc, char** argv) {
  reserve_standard_descriptors();
  const auto fail = [&](const std::string& message, int code) {
    print_message(fmt::format("{}: {}", app.get_name(), message));
    return code;
  };
  const std::string lost = "standard output could not be written";
  try {
    internal::CommandFiles files;
    check_command(app, argc, argv);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& success) {  // --help, --version
      std::ostringstream text;
      app.exit(success, text);
      fmt::print("{}", text.str());
    }
  } catch (const CLI::ParseError& e) {
    return fail(usage_message(app, e), static_cast<int>(ErrorKind::kUsage));
  } catch (const Error& e) {
    return fail(e.what(), e.exit_code());
  } catch (const std::bad_alloc&) {
    return fail("out of memory for this input; shorten it or request less", static_cast<int>(ErrorKind::kOther));
  } catch (const std::exception& e) {
    return fail(std::ferror(stdout) != 0 ? lost : e.what(), static_cast<int>(ErrorKind::kOther));
  }
  // What was printed must have arrived.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return fail(lost, static_cast<int>(ErrorKind::kOther));
  return 0;
}

}  // namespace attnflow
