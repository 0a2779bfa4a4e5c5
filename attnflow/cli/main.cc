// attnflow: which input tokens did each output of a Transformer draw on?
//
// Standard output is data, standard error is messages. Exit codes are those of attnflow::ErrorKind.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "attnflow/base/error.h"
#include "attnflow/base/version.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/usage_error.h"

namespace {

int fail(const std::string& message, int code) {
  fmt::print(stderr, "attnflow: {}\n", message);
  return code;
}

// Ends a program whose work is done, without the destructors of global objects: libtorch's take a tenth of a small run.
// Everything of ours is written and closed by now. A sanitizer looks for leaks after main(), so there it returns.
void leave() {
#ifndef ATTNFLOW_SANITIZE
  std::_Exit(0);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "attnflow: attention rollout and attention flow (Abnar & Zuidema, ACL 2020).\n"
      "Which input tokens did each output of a Transformer draw on?");
  app.name("attnflow");
  app.set_version_flag("--version", ATTNFLOW_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 2 wrong usage, 3 bad input file, 4 unsupported model, 5 input too long, 1 anything else.");
  attnflow::add_explain_command(app);
  attnflow::add_evaluate_command(app);
  attnflow::add_image_command(app);
  attnflow::add_generate_command(app);
  attnflow::add_convert_command(app);
  attnflow::add_model_command(app);
  attnflow::add_serve_command(app);
  attnflow::add_train_command(app);
  try {
    // CLI11 would only say that a subcommand is missing.
    const auto is_asked = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_asked).empty()) {
      throw attnflow::Error(
          attnflow::ErrorKind::kUsage,
          fmt::format("expected a command (explain, image, generate, convert, evaluate, model, serve or train), "
                      "found '{}'; run 'attnflow --help'",
                      argv[1]));
    }
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return fail(attnflow::usage_message(app, e), static_cast<int>(attnflow::ErrorKind::kUsage));
  } catch (const attnflow::Error& e) {
    return fail(e.what(), e.exit_code());
  } catch (const std::bad_alloc&) {
    return fail("expected enough memory for this input, found none left; shorten the input, or ask for fewer methods",
                static_cast<int>(attnflow::ErrorKind::kOther));
  } catch (const std::exception& e) {
    return fail(e.what(), static_cast<int>(attnflow::ErrorKind::kOther));
  }
  // What was printed must have arrived.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return fail("standard output could not be written", static_cast<int>(attnflow::ErrorKind::kOther));
  }
  leave();
  return 0;
}
