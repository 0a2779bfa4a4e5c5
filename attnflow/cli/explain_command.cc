// attnflow explain: from a text and a model, or from an attention file, to a report.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/analysis/certificates.h"
#include "attnflow/analysis/explain.h"
#include "attnflow/analysis/referents.h"
#include "attnflow/analysis/write_report.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/decoder_argument.h"
#include "attnflow/cli/messages.h"
#include "attnflow/cli/model_argument.h"
#include "attnflow/cli/progress_bar.h"
#include "attnflow/model/model_input.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_table.h"

namespace attnflow {
namespace {

struct ExplainArguments {
  std::optional<std::string> text;
  std::optional<std::string> pair;
  std::optional<std::string> model;
  std::string attention;
  std::vector<std::string> outputs;
  std::string device = "cpu";
  bool allow_unused_weights = false;
  std::string view = "overview";
  bool json = false;
  ReadSettings read_settings;
  ExplainOptions options;
};

TableOptions terminal_options() {
  TableOptions table;
  table.width = terminal_width().value_or(table.width);
  const char* no_color = std::getenv("NO_COLOR");
  table.color = isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
  return table;
}

void run_explain(ExplainArguments& arguments) {
  ExplainOptions& options = arguments.options;
  arguments.read_settings(options.settings);
  validate(options.settings);
  for (const std::string& pair : options.certificates) parse_certificate(pair);
  check_referents(options.referents);
  FigureOptions figure;
  const std::optional<FigureView> view = figure_view_from_name(arguments.view);
  if (!view) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--view: expected overview, graph, heatmap, strip, matrix or referents, found '{}'",
                            arguments.view));
  }
  figure.view = *view;
  for (const std::string& output : arguments.outputs) check_output(output);
  const bool from_file = !arguments.attention.empty();
  const bool draws = std::any_of(arguments.outputs.begin(), arguments.outputs.end(), is_picture);
  if (*view != FigureView::kOverview && !draws) {
    throw Error(ErrorKind::kUsage, "--view: expected a picture to draw (-o FILE.svg, .pdf or .png), found none");
  }
  if (*view == FigureView::kReferents && options.referents.empty()) {
    throw Error(ErrorKind::kUsage, "--view referents: expected words to compare (--referents WORD,WORD), found none");
  }
  if (options.keep_attention && arguments.outputs.empty() && !arguments.json) {
    throw Error(ErrorKind::kUsage,
                "--keep-attention: expected a file to keep it in (-o FILE.npz) or --json, found neither");
  }
  if (!options.certificates.empty() && !arguments.outputs.empty() && !arguments.json &&
      std::none_of(arguments.outputs.begin(), arguments.outputs.end(), shows_certificates)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--certificate: expected a place that shows it (the terminal, --json, or -o FILE.json, .md "
                            "or .txt), found only {}",
                            fmt::join(arguments.outputs, ", ")));
  }
  const auto shows_them = [&](const std::string& output) {
    return shows_referents(output) || (*view == FigureView::kReferents && is_picture(output));
  };
  if (!options.referents.empty() && !arguments.outputs.empty() && !arguments.json &&
      std::none_of(arguments.outputs.begin(), arguments.outputs.end(), shows_them)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--referents: expected a place that shows them (the terminal, --json, -o FILE.html, .json, "
                            ".md or .txt, or a picture with --view referents), found only {}",
                            fmt::join(arguments.outputs, ", ")));
  }
  if (from_file && (arguments.text || arguments.pair || arguments.model)) {
    throw Error(ErrorKind::kUsage, "expected either a text (with --model and --pair), or --attention FILE, found both");
  }
  if (from_file && options.settings.has_gradients()) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--mixing {}: expected a text and a model, found --attention, whose file holds no gradients",
                    to_text(options.settings.mixing)));
  }
  if (from_file && (options.truncate || arguments.device != "cpu")) {
    throw Error(ErrorKind::kUsage, "--truncate and --device are for --model: an attention file is taken as it is");
  }
  if (from_file && options.only_output_token) {
    throw Error(ErrorKind::kUsage, "--only-output-token: expected a decoder (--model), found --attention");
  }
  if (from_file && !options.candidates.empty()) {
    throw Error(ErrorKind::kUsage, "--candidates: expected a model to ask, found --attention");
  }
  if (!from_file && (options.renormalize || options.any_weights)) {
    throw Error(ErrorKind::kUsage,
                "--renormalize and --any-weights are for --attention FILE: a model's attention is "
                "softmax output already");
  }
  if (options.renormalize && options.any_weights) {
    throw Error(ErrorKind::kUsage, "expected --renormalize or --any-weights, found both");
  }
  if (!from_file && !arguments.text) {
    throw Error(ErrorKind::kUsage,
                "expected a text to explain (or - to read it from standard input), or --attention "
                "FILE, found neither");
  }

  ProgressBar bar("flow");
  options.progress = bar.function();
  Report report;
  if (from_file) {
    report = explain_attention(read_attention(arguments.attention, options), options);
  } else {
    if (*arguments.text == "-") arguments.text = read_standard_input();
    // Small things first: an unknown architecture or a bad tokenizer is found before the weights are mapped.
    LoadOptions load{arguments.device, options.threads};
    load.allow_unused_weights = arguments.allow_unused_weights;
    if (arguments.model && is_gguf(*arguments.model)) {
      const LoadedDecoder model = load_decoder_argument(*arguments.model, load);
      report = explain_text(*model.decoder, model.codec(), *arguments.text, arguments.pair, options);
    } else {
      const Folder folder = arguments.model ? resolve_model(*arguments.model) : default_model();
      const ModelInfo info = read_model_info(folder, load);
      check_takes_text(info);
      const Tokenizer tokenizer = Tokenizer::load(folder, info.architecture);
      const std::unique_ptr<Model> model = load_model(folder, load);
      report = explain_text(*model, tokenizer, *arguments.text, arguments.pair, options);
    }
  }

  bar.finish();
  for (const std::string& output : arguments.outputs) write_report(output, report, figure);
  if (arguments.json) {
    fmt::print("{}", report_to_json(report));
  } else if (arguments.outputs.empty()) {
    fmt::print("{}", terminal_table(report, terminal_options()));
    if (report.all_output_tokens) {
      print_message("note: the table shows one output token; -o FILE or --json give all");
    }
  } else {
    if (!from_file && !arguments.model) {
      print_message(
          fmt::format("note: the model is {}, which is built in; --model chooses another", report.model.name));
    }
    for (const std::string& note : report.notes) print_message("note: " + note);
    for (const std::string& output : arguments.outputs) print_message("wrote " + output);
  }
}

}  // namespace

void add_explain_command(CLI::App& app) {
  auto arguments = std::make_shared<ExplainArguments>();
  Settings& settings = arguments->options.settings;
  CLI::App* command = app.add_subcommand("explain", "Which input tokens did each output token of a text draw on?");
  command->add_option("TEXT", arguments->text, "The text; - reads it from standard input");
  command->add_option("--pair", arguments->pair, "A second segment, for models of sentence pairs");
  command
      ->add_option("--model", arguments->model,
                   "Folder of a Hugging Face model, a GGUF file, or the name of a model that is built in ('attnflow "
                   "model' lists "
                   "them). "
                   "Without it the first of those is used")
      ->type_name("DIR|NAME|FILE.gguf");
  command->add_option("--attention", arguments->attention, "Attention [layer, head, query, key] instead of a model")
      ->type_name("FILE.{npz,npy,safetensors}");
  add_outputs(command, arguments->outputs, ".html .svg .pdf .png .json .csv .npz .safetensors .md .txt",
              "a table is printed");
  command->add_flag("--json", arguments->json, "Print the report document on standard output");

  const char* how = "What to compute";
  const char* show = "What to show and keep";
  arguments->read_settings = add_settings(command, settings, kForExplain, {.compute = how, .show = show});
  command
      ->add_flag("--only-output-token", arguments->options.only_output_token,
                 "Decoders: only that token's row, without matrices between all tokens; for long texts")
      ->group(how);
  command->add_flag("--renormalize", arguments->options.renormalize, "--attention: divide each row by its sum")
      ->group(how);
  command->add_flag("--any-weights", arguments->options.any_weights, "--attention: rows need not sum to 1")->group(how);

  command
      ->add_option("--view", arguments->view,
                   "What .svg, .pdf and .png show: overview, graph, heatmap, strip, matrix or referents")
      ->capture_default_str()
      ->group(show);
  comma_list(command->add_option("--candidates", arguments->options.candidates,
                                 "Words whose probability at the mask is shown, joined by commas"))
      ->type_name("WORD,WORD")
      ->group(show);
  comma_list(command->add_option(
                 "--referents", arguments->options.referents,
                 "Words of the text whose weights are compared, by layer, such as author,Sara; author:2 is the second "
                 "author, a number a position"))
      ->type_name("WORD,WORD")
      ->group(show);
  command
      ->add_flag("--keep-attention", arguments->options.keep_attention, "Keep the attention of all heads (npz, json)")
      ->group(show);

  command
      ->add_option("--certificate", arguments->options.certificates,
                   "Prove the flow of one pair (flow on arcs, minimum cut), such as cls,5. May be repeated")
      ->type_name("OUT,IN")
      ->take_all()
      ->allow_extra_args(false)
      ->group(show);

  const char* run = "How to run";
  command->add_flag("--truncate", arguments->options.truncate, "Cut a text that is too long for the model")->group(run);
  command->add_option("--threads", arguments->options.threads, "Threads; 0: one per processor (GGUF: per idle one)")
      ->check(whole_number)
      ->capture_default_str()
      ->group(run);
  command->add_option("--device", arguments->device, "cpu, or cuda[:N]")->capture_default_str()->group(run);
  add_unused_weights_option(command, arguments->allow_unused_weights, run);
  command->callback([arguments, command] {
    ExplainOptions& options = arguments->options;
    // Flow is among the usual methods, and needs what this option saves.
    if (options.only_output_token && command->count("--method") == 0)
      options.settings.methods = {Method::kRaw, Method::kRollout};
    run_explain(*arguments);
  });
}

}  // namespace attnflow
