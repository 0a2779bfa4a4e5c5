// attnflow: which input tokens did each output of a Transformer depend on?
//
// Standard output is data, standard error is messages. Exit codes are those of attnflow::ErrorKind.

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/base/version.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/help_formatter.h"
#include "attnflow/cli/run_app.h"
#include "attnflow/model/backend.h"
#include "attnflow/model/blas_kernels.h"

namespace {

// Ends the finished program without the destructors of global objects: libtorch's take a tenth of a small run. All of
// our files are written and closed by now. A sanitizer looks for leaks after main(), so this function then returns.
void leave() {
#ifndef ATTNFLOW_SANITIZE
  std::_Exit(0);
#endif
}

// Hidden from the help: tells users of a former command where it is now. `where` follows "found 'train'; ".
void refuse_command(CLI::App& app, const std::string& name, const std::string& where) {
  CLI::App* command = app.add_subcommand(name)->group("")->prefix_command();
  command->set_help_flag();
  command->callback([name, where] {
    throw attnflow::Error(attnflow::ErrorKind::kUsage,
                          "expected a command of attnflow, found '" + name + "'; " + where);
  });
}

// Prints the version alone in the first line, followed by the details that a bug report should include.
std::string version() {
  std::string text = ATTNFLOW_VERSION;
#ifdef ATTNFLOW_COMMIT
  text += "\ncommit " ATTNFLOW_COMMIT;
#endif
  text += "\nbackends:";
  bool any = false;
  for (const char* const backend : {attnflow::kTorchBackend, attnflow::kLlamaBackend}) {
    const std::optional<std::filesystem::path> file = attnflow::find_backend(backend, attnflow::backend_folders());
    if (!file) continue;
    text += "\n  " + file->string();
    any = true;
  }
  return any ? text : text + " none";
}

}  // namespace

int main(int argc, char** argv) {
  attnflow::choose_blas_kernels();
  CLI::App app(
      "attnflow: attention rollout and attention flow (Abnar & Zuidema, ACL 2020).\nWhich input tokens did each output "
      "of a Transformer depend on?");
  app.name("attnflow");
  app.formatter(std::make_shared<attnflow::HelpFormatter>());
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success, 2 usage error, 3 bad input file, 4 unsupported model, 5 input too long, 1 anything "
      "else.");
  attnflow::add_explain_command(app);
  attnflow::add_image_command(app);
  attnflow::add_generate_command(app);
  attnflow::add_evaluate_command(app);
  attnflow::add_model_command(app);
  attnflow::add_serve_command(app);
  refuse_command(app, "convert", "convert a GGUF file with 'attnflow model FILE.gguf -o FOLDER'");
  refuse_command(app, "train",
                 "train models with the separate program attnflow-train (built with -DATTNFLOW_TRAINING=ON)");
  const int code = attnflow::run_app(app, argc, argv);
  if (code == 0) leave();
  return code;
}
