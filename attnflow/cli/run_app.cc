#include "attnflow/cli/run_app.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/cli/usage_error.h"

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
  throw Error(ErrorKind::kUsage, fmt::format("expected a command ({} or {}), found '{}'; run '{} --help'",
                                             fmt::join(names, ", "), last, argv[1], app.get_name()));
}

}  // namespace

int run_app(CLI::App& app, int argc, char** argv) {
  const auto fail = [&](const std::string& message, int code) {
    fmt::print(stderr, "{}: {}\n", app.get_name(), message);
    return code;
  };
  try {
    check_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    app.exit(e);
  } catch (const CLI::ParseError& e) {
    return fail(usage_message(app, e), static_cast<int>(ErrorKind::kUsage));
  } catch (const Error& e) {
    return fail(e.what(), e.exit_code());
  } catch (const std::bad_alloc&) {
    return fail("expected enough memory for this input, found none left; shorten the input, or ask for less",
                static_cast<int>(ErrorKind::kOther));
  } catch (const std::exception& e) {
    return fail(e.what(), static_cast<int>(ErrorKind::kOther));
  }
  // What was printed must have arrived.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return fail("standard output could not be written", static_cast<int>(ErrorKind::kOther));
  }
  return 0;
}

}  // namespace attnflow
