// attnflow-train: trains the text models of the paper and one image model. Exit codes are those of attnflow::ErrorKind.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/base/progress.h"
#include "attnflow/base/version.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/messages.h"
#include "attnflow/cli/run_app.h"
#include "attnflow/cli/stop_on_signal.h"
#include "attnflow/files/command_files.h"
#include "training/program/commands.h"

namespace attnflow {
namespace {

std::string minutes(double seconds) {
  const long whole = std::lround(seconds);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

void add_seed(CLI::App* command, std::uint64_t& seed) { add_whole_number(command, "--seed", seed, "Random seed"); }

void add_threads(CLI::App* command, std::size_t& threads) {
  add_whole_number(command, "--threads", threads,
                   "Number of threads; 0: one per processor. Does not change the result");
}

void add_count(CLI::App* command, const char* name, std::size_t& value, const char* what) {
  add_whole_number(command, name, value, what)->group("Recipe");
}

void add_number(CLI::App* command, const char* name, double& value, const char* what) {
  command->add_option(name, value, what)->capture_default_str()->group("Recipe");
}

TrainingCallbacks print_progress() {
  TrainingCallbacks callbacks;
  callbacks.say = [](const std::string& message) { print_message(message); };
  callbacks.progress = [](const PhaseProgress& p) {
    const std::string line = fmt::format("{} {}/{}  cost {:.3f}  {:.0f} {}/s  {} left", p.phase, p.step, p.steps,
                                         p.cost, p.units_per_second, p.unit, minutes(p.seconds_left));
    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    if (terminal) print_raw_message("\r\x1b[K" + line);
    if (p.measured) print_raw_message(fmt::format("{}{}  {}\n", terminal ? "\r\x1b[K" : "", line, *p.measured));
    if (terminal && p.step == p.steps && !p.measured) print_raw_message("\n");
  };
  return callbacks;
}

void run_interruptible(const std::filesystem::path& output, const std::function<void(const std::stop_token&)>& work) {
  // An interrupted run's state is read from there, and overwritten.
  if (internal::CommandFiles* const files = internal::command_files()) files->add_work_folder(output / "training");
  const StopOnSignal signals;
  try {
    work(signals.token());
  } catch (const Cancelled&) {
    throw Error(ErrorKind::kOther,
                fmt::format("interrupted; run the same command again to resume from the checkpoint in {}",
                            (output / "training").string()));
  }
  print_message("wrote " + output.string());
}

}  // namespace attnflow

int main(int argc, char** argv) {
  CLI::App app("attnflow-train: train the text and vision models of attnflow's experiments.");
  app.name("attnflow-train");
  app.set_version_flag("--version", ATTNFLOW_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 success, 2 usage error, 3 bad input file, 4 unsupported model, 1 anything else.");
  attnflow::add_prose_commands(app);
  attnflow::add_sentiment_command(app);
  attnflow::add_fashion_command(app);
  attnflow::reserve_standard_descriptors();
  return attnflow::run_app(app, attnflow::command_arguments(argc, argv));
}
