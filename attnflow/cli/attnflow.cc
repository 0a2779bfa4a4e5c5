#include "attnflow/cli/attnflow.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/base/version.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/help_formatter.h"
#include "attnflow/cli/run_app.h"
#include "attnflow/model/backend.h"

namespace attnflow {
namespace {

// A hidden command that says where a former one is now. `where` follows "found 'train'; ".
void refuse_command(CLI::App& app, const std::string& name, const std::string& where) {
  CLI::App* command = app.add_subcommand(name)->group("")->prefix_command();
  command->set_help_flag();
  command->callback([name, where] {
    throw Error(ErrorKind::kUsage, "expected a command of attnflow, found '" + name + "'; " + where);
  });
}

// The first line has the version alone; the rest is for bug reports.
std::string version() {
  std::string text = ATTNFLOW_VERSION;
#ifdef ATTNFLOW_COMMIT
  text += "\ncommit " ATTNFLOW_COMMIT;
#endif
  text += "\nbackends:";
  bool any = false;
  for (const char* const backend : {kTorchBackend, kLlamaBackend}) {
    const std::optional<std::filesystem::path> file = find_backend(backend, backend_folders());
    if (!file) continue;
    text += "\n  " + file->string();
    any = true;
  }
  return any ? text : text + " none";
}

}  // namespace

int run_attnflow(std::vector<std::string> arguments, const Console& streams) {
  CLI::App app(
      "attnflow: attention rollout and attention flow (Abnar & Zuidema, ACL 2020).\nWhich input tokens did each output "
      "of a Transformer depend on?");
  app.name("attnflow");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  app.footer(kExitCodes);
  add_explain_command(app);
  add_image_command(app);
  add_generate_command(app);
  add_evaluate_command(app);
  add_model_command(app);
  add_serve_command(app);
  refuse_command(app, "convert", "convert a GGUF file with 'attnflow model FILE.gguf -o FOLDER'");
  refuse_command(app, "train",
                 "train models with the separate program attnflow-train (built with -DATTNFLOW_TRAINING=ON)");
  return run_app(app, std::move(arguments), streams);
}

}  // namespace attnflow
