// attnflow generate: continue a prompt, and show what each generated token depends on.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/analysis/generate/generate.h"
#include "attnflow/analysis/loaded_model.h"
#include "attnflow/analysis/text/explain_text.h"
#include "attnflow/analysis/write_report.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/error.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/console.h"
#include "attnflow/cli/messages.h"
#include "attnflow/cli/model_argument.h"
#include "attnflow/cli/progress_bar.h"
#include "attnflow/cli/stop_on_signal.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_table.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace {

struct GenerateArguments {
  std::string prompt;
  std::string model;
  std::vector<std::string> outputs;
  std::string view = "overview";
  std::string figure_method;
  std::optional<std::size_t> figure_token;
  std::string device = "cpu";
  bool allow_unused_weights = false;
  bool json = false;
  bool multiline = false;
  ReadSettings read_settings;
  std::vector<ReadOptions<GenerateOptions>> read_options;
  ReadPaper read_paper;
  GenerateOptions options;
};

// Model output must not move a terminal's cursor, color the screen or reverse a line. Whole lines.
std::string for_terminal(std::string_view text) {
  std::string safe;
  while (true) {
    const std::size_t end = text.find_first_of("\n\t");
    safe += clean_line(text.substr(0, end));
    if (end == std::string_view::npos) return safe;
    safe += text[end];
    text.remove_prefix(end + 1);
  }
}

FigureOptions figure_of(const GenerateArguments& arguments) {
  FigureOptions figure;
  index_of_choice("--view", {"overview", "strip", "heatmap", "matrix"}, arguments.view);
  figure.view = figure_view_from_name(arguments.view);
  const std::string& shown = arguments.figure_method;
  const std::optional<std::size_t>& token = arguments.figure_token;
  figure.output_token = token;
  const std::vector<std::string> computed = to_texts(arguments.options.settings.methods);
  refuse_if(!shown.empty() && std::find(computed.begin(), computed.end(), shown) == computed.end(),
            fmt::format("--show: expected one of the computed methods ({}), found '{}'{}", fmt::join(computed, ", "),
                        shown, internal::did_you_mean(shown, computed)));
  if (!shown.empty()) figure.methods = {parse_method(shown)};
  if (figure.view == FigureView::kHeatmap && !figure.methods.empty() &&
      !method_info(figure.methods.front()).aggregates()) {
    throw Error(ErrorKind::kUsage, fmt::format("--view heatmap: expected --show raw, rollout or flow, found {}, which "
                                               "has no layers; choose --view strip or matrix",
                                               shown));
  }
  if (token && *token >= arguments.options.tokens) {
    throw Error(ErrorKind::kUsage, fmt::format("--token: expected a generated token from 0 to {}, found {}",
                                               arguments.options.tokens - 1, *token));
  }
  const auto& flow_tokens = arguments.options.flow_tokens;
  if (token && shown == "flow" && !flow_tokens.empty() &&
      std::find(flow_tokens.begin(), flow_tokens.end(), *token) == flow_tokens.end()) {
    throw Error(ErrorKind::kUsage, fmt::format("--token: expected one of --flow-tokens ({}) for --show flow, found {}",
                                               fmt::join(flow_tokens, ", "), *token));
  }
  return figure;
}

void run_generate(GenerateArguments& arguments) {
  GenerateOptions& options = arguments.options;
  arguments.read_settings(options.settings);
  for (const auto& read : arguments.read_options) read(options);
  if (!options.flow_tokens.empty() && options.flow_tokens.back() >= options.tokens) {
    throw Error(ErrorKind::kUsage, fmt::format("--flow-tokens: expected generated tokens from 0 to {}, found {}",
                                               options.tokens - 1, options.flow_tokens.back()));
  }
  refuse_if(!options.settings.wants(Method::kFlow) && !(options.flow_tokens.empty() && options.flow_layers.empty()),
            "--flow-tokens and --flow-layers require --method flow");
  check_generate_options(options);
  FigureOptions figure = figure_of(arguments);
  for (const std::string& output : arguments.outputs) check_output(output);
  figure.set(arguments.read_paper(arguments.outputs));
  const bool to_stdout = writes_to_standard_output(arguments.outputs, arguments.json);
  if (arguments.prompt == "-") arguments.prompt = read_text_from_standard_input(arguments.multiline);

  const LoadedText model = load_decoder_model(open_model(arguments.model, {arguments.allow_unused_weights}),
                                              {arguments.device, options.threads});
  const bool terminal = is_terminal(console().out);
  const bool prints_text = !arguments.json && !to_stdout;
  ProgressBar reading("prompt tokens read");
  options.reading = reading.function();
  ProgressBar generating("tokens generated");
  if (prints_text) {
    options.on_text = [terminal, &reading](std::string_view text) {
      reading.finish();
      fmt::print(console().out, "{}", terminal ? for_terminal(text) : std::string(text));
      std::fflush(console().out);
    };
  } else {  // the text itself shows progress
    options.generating = generating.function();
  }
  // A page also shows each token's dependence on generated ones, if those values are few.
  constexpr std::size_t kFewValues = 1'000'000;
  const bool few = options.tokens <= kFewValues / options.tokens / model.decoder().info().layers;
  const bool page = std::any_of(arguments.outputs.begin(), arguments.outputs.end(),
                                [](const std::string& file) { return file.ends_with(".html"); });
  options.generated_columns = options.generated_columns || (page && few);
  ProgressBar bar("generated tokens");
  options.progress = bar.function();
  const StopOnSignal signals;
  options.stop_token = signals.token();
  const Report report = generate(model.decoder(), model.codec(), arguments.prompt, options);
  const bool interrupted = report.generation->stopped == "interrupted" || signals.token().stop_requested();
  reading.finish();
  generating.finish();
  bar.finish();
  if (prints_text) {
    fmt::print(console().out, "\n");
    std::fflush(console().out);  // before any output on standard error
  }
  // One unwritable file must not prevent the others after minutes of generation.
  std::exception_ptr failure;
  for (const std::string& output : arguments.outputs) {
    try {
      write_report(output, report, figure);
      print_written(output);
    } catch (const Error&) {
      if (failure) {
        try {
          std::rethrow_exception(failure);
        } catch (const Error& error) {
          print_message(fmt::format("attnflow: {}", error.what()));
        }
      }
      failure = std::current_exception();
    }
  }
  if (arguments.json) {
    fmt::print(console().out, "{}", report_to_json(report));
  } else if (arguments.outputs.empty()) {
    TableOptions table;
    table.width = terminal_width().value_or(table.width);
    fmt::print(console().out, "\n{}", terminal_table(report, table));
  }
  if (!arguments.outputs.empty()) {
    for (const std::string& note : note_texts(report.notes)) print_message("note: " + note);
  }
  if (failure) std::rethrow_exception(failure);
  if (interrupted) {
    throw Error(ErrorKind::kOther, fmt::format("interrupted after {} of {} tokens; the partial result was {}",
                                               report.generation->tokens.size(), options.tokens,
                                               arguments.outputs.empty() ? "printed" : "written"));
  }
}

}  // namespace

void add_generate_command(CLI::App& app) {
  auto arguments = std::make_shared<GenerateArguments>();
  GenerateOptions& options = arguments->options;
  options.settings.methods = {Method::kRaw, Method::kRollout};
  options.settings.mixing = Mixing::kAuto;
  CLI::App* command =
      app.add_subcommand("generate", "Continue a prompt and show which prompt tokens each generated token depends on");
  command->add_option("PROMPT", arguments->prompt, "Prompt to continue; - reads it from standard input")->required();
  command->add_option("--model", arguments->model, "GGUF file, or folder of a Hugging Face decoder")
      ->required()
      ->type_name("FILE.gguf|DIR");
  add_multiline(command, arguments->multiline);
  add_outputs(command, arguments->outputs, output_endings(), "print a table below the text");
  command->add_flag("--json", arguments->json, "Print the report as JSON on standard output instead of the text");

  const auto add = [&](const char* group) {
    arguments->read_options.push_back(add_options(command, generate_options(), options, kGenerateCommand, group));
  };
  add("Sampling");
  arguments->read_settings = add_settings(
      command, options.settings, kGenerateCommand,
      {{"normalize", "none, or receptive-field: also report values corrected for the advantage of early tokens"},
       {"words", "Merge subword tokens of the prompt into words"}});
  add("Analysis");

  command->option_defaults()->group("Output");
  add("Output");
  command
      ->add_option("--view", arguments->view,
                   "Figure to draw in .svg, .pdf and .png: overview, strip, heatmap or matrix")
      ->capture_default_str();
  command->add_option("--show", arguments->figure_method, "Method to show in figures")->type_name("METHOD");
  command->add_option("--token", arguments->figure_token, "Generated token to show in figures, from 0")
      ->check(whole_number);

  arguments->read_paper = add_paper_options(command);

  command->option_defaults()->group("Runtime");
  add_machine(command, options.threads, " (GGUF: per idle processor)", arguments->device);
  add_unused_weights_option(command, arguments->allow_unused_weights);
  command->callback([arguments] { run_generate(*arguments); });
}

}  // namespace attnflow
