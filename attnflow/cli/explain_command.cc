// attnflow explain: from a text and a model, or from an attention file, to a report.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/analysis/loaded_model.h"
#include "attnflow/analysis/text/explain_text.h"
#include "attnflow/analysis/write_report.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/parse_number.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/console.h"
#include "attnflow/cli/messages.h"
#include "attnflow/cli/model_argument.h"
#include "attnflow/cli/progress_bar.h"
#include "attnflow/explain/attention_file.h"
#include "attnflow/explain/explain_attention.h"
#include "attnflow/report/report_answer.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_table.h"
#include "attnflow/words/lists.h"

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
  std::string view;  // empty: the default for figures
  std::string arcs;  // in the graph; empty: the default for figures
  bool json = false;
  bool multiline = false;
  bool names_methods = false;
  ReadSettings read_settings;
  ReadOptions<ExplainOptions> read_options;
  ReadPaper read_paper;
  ExplainOptions options;
};

void read_arcs(const std::string& arcs, FigureOptions* figure) {
  if (arcs.empty()) return;
  if (figure->view != FigureView::kGraph) throw Error(ErrorKind::kUsage, "--arcs requires --view graph");
  figure->every_arc = arcs == "all";
  if (figure->every_arc) return;
  const std::optional<std::size_t> count = internal::parse_number(arcs);
  if (!count || *count == 0) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--arcs: expected all, or the number of arcs to draw for each node (at least 1), "
                            "found '{}'",
                            arcs));
  }
  figure->arcs_per_node = *count;
}

TableOptions terminal_options() {
  TableOptions table;
  table.width = terminal_width().value_or(table.width);
  const char* no_color = std::getenv("NO_COLOR");
  table.color = is_terminal(console().out) && (no_color == nullptr || *no_color == '\0');
  const char* const depth = std::getenv("COLORTERM");
  table.true_color = depth != nullptr && (depth == std::string_view("truecolor") || depth == std::string_view("24bit"));
  return table;
}

void run_explain(ExplainArguments& arguments) {
  ExplainOptions& options = arguments.options;
  arguments.read_settings(options.settings);
  arguments.read_options(options);
  leave_out_flow(options, arguments.names_methods);
  check_options(options);
  FigureOptions figure;
  if (!arguments.view.empty()) index_of_choice("--view", figure_view_names(), arguments.view);
  const std::optional<FigureView> view = figure_view_from_name(arguments.view);
  figure.view = view;
  read_arcs(arguments.arcs, &figure);
  for (const std::string& output : arguments.outputs) check_output(output);
  figure.set(arguments.read_paper(arguments.outputs));
  writes_to_standard_output(arguments.outputs, arguments.json);
  const bool from_file = !arguments.attention.empty();
  const bool draws = std::any_of(arguments.outputs.begin(), arguments.outputs.end(), is_picture);
  refuse_if(view && !draws, "--view requires a figure (-o FILE.svg, .pdf or .png)");
  refuse_if(view == FigureView::kReferents && options.referents.empty(),
            "--view referents requires --referents WORD,WORD");
  refuse_if(options.keep_attention && arguments.outputs.empty() && !arguments.json,
            "--keep-attention requires -o FILE.npz, .safetensors or .json, or --json");
  refuse_if(!options.certificates.empty() && !arguments.outputs.empty() && !arguments.json &&
                std::none_of(arguments.outputs.begin(), arguments.outputs.end(), shows_certificates),
            fmt::format("--certificate requires an output that shows it (the terminal, --json, "
                        "or -o FILE.json, .md or .txt), found only {}",
                        fmt::join(arguments.outputs, ", ")));
  const auto shows_them = [&](const std::string& output) {
    return shows_referents(output) || (view == FigureView::kReferents && is_picture(output));
  };
  refuse_if(!options.referents.empty() && !arguments.outputs.empty() && !arguments.json &&
                std::none_of(arguments.outputs.begin(), arguments.outputs.end(), shows_them),
            fmt::format("--referents requires an output that shows them (the terminal, --json, -o FILE.html, "
                        ".json, .md or .txt, or a figure with --view referents), found only {}",
                        fmt::join(arguments.outputs, ", ")));
  refuse_if(from_file && (arguments.text || arguments.pair || options.target_text || arguments.model),
            "give either a text (with --model, --pair and --target-text) or --attention FILE, not both; tokens are "
            "named in the file: "
            "a NumPy array of strings called tokens in .npz, the metadata tokens (a JSON list) in .safetensors");
  refuse_if(from_file && (options.truncate || arguments.device != "cpu"),
            "--truncate and --device require a model, not --attention");
  refuse_if(from_file && !options.blank.empty(), "--blank requires a model, not --attention");
  refuse_if(from_file && !options.candidates.empty(), "--candidates requires a model, not --attention");
  refuse_if(!from_file && (options.renormalize || options.any_weights),
            "--renormalize and --any-weights require --attention FILE: a model's attention is already normalized "
            "by softmax");
  check_attention_options(options);
  refuse_if(!from_file && !arguments.text,
            "expected a text to explain (or - to read it from standard input), or --attention "
            "FILE, found neither");

  ProgressBar reading("tokens read");
  options.reading = reading.function();
  ProgressBar bar(options.only_output_token && !from_file ? "layers and flow" : "flow");
  options.progress = bar.function();
  Phases scoring;
  options.phases = [&](std::string_view phase) { return scoring.start(phase); };
  Report report;
  if (from_file) {
    report = explain_attention(read_attention(arguments.attention, options), options);
  } else {
    if (*arguments.text == "-") arguments.text = read_text_from_standard_input(arguments.multiline);
    // Finds an unknown architecture or a bad tokenizer before the weights are mapped.
    const ModelFiles files = open_text_model(arguments.model, {arguments.allow_unused_weights});
    const LoadedText loaded = load_text_model(files, {arguments.device, options.threads});
    report = explain_text(*loaded.model, loaded.codec(), *arguments.text, arguments.pair, options);
  }

  reading.finish();
  bar.finish();
  scoring.finish();
  for (const std::string& output : arguments.outputs) write_report(output, report, figure);
  if (arguments.json) {
    fmt::print(console().out, "{}", report_to_json(report));
  } else if (arguments.outputs.empty()) {
    fmt::print(console().out, "{}", terminal_table(report, terminal_options()));
    if (report.all_output_tokens) {
      print_message("note: the table shows one output token; -o FILE and --json include all of them");
    }
  } else {
    if (!from_file && !arguments.model) {
      print_message(fmt::format("note: using the built-in model {}; select another with --model", report.model.name));
    }
    for (const std::string& note : note_paragraphs(report)) print_message("note: " + note);
    for (const std::string& output : arguments.outputs) print_written(output);
  }
}

}  // namespace

void add_explain_command(CLI::App& app) {
  auto arguments = std::make_shared<ExplainArguments>();
  Settings& settings = arguments->options.settings;
  settings = default_settings(kExplainCommand);
  CLI::App* command = app.add_subcommand("explain", "Show which input tokens each output token of a text depends on");
  add_examples(command, {"attnflow explain \"The keys to the cabinet\"",
                         "attnflow explain \"The capital of France is\" --model model.gguf --against London",
                         "attnflow explain \"I liked it.\" --model path/to/classifier -o report.html -o report.json"});
  command->add_option("TEXT", arguments->text, "Text to explain; - reads it from standard input");
  add_multiline(command, arguments->multiline);
  command->add_option("--pair", arguments->pair,
                      "Second text: for sentence-pair models, or the text that a question is answered from");
  command
      ->add_option("--model", arguments->model,
                   "Hugging Face folder, GGUF file, or built-in model ('attnflow model' lists them). Default: the "
                   "first built-in text model")
      ->type_name("DIR|NAME|FILE.gguf");
  command
      ->add_option("--attention", arguments->attention,
                   "Read attention [layer, head, query, key] from a file instead of running a model")
      ->type_name("FILE.{npz,npy,safetensors}");
  add_outputs(command, arguments->outputs, output_endings(), "print a table");
  command->add_flag("--json", arguments->json, "Print the report as JSON on standard output");

  command->option_defaults()->group("Analysis");
  arguments->read_settings = add_settings(command, settings, kExplainCommand);
  arguments->read_options = add_options(command, explain_options(), arguments->options, kExplainCommand);

  command->option_defaults()->group("Output");
  command
      ->add_option("--view", arguments->view,
                   fmt::format("Figure to draw in .svg, .pdf and .png: {}. Default: answer where a prediction is "
                               "explained, otherwise overview",
                               internal::listed(figure_view_names(), "or")))
      ->type_name("VIEW");
  command
      ->add_option("--arcs", arguments->arcs,
                   "With --view graph: the strongest N arcs of each node to other tokens (default 3), or all")
      ->type_name("N|all");
  arguments->read_paper = add_paper_options(command);

  command->option_defaults()->group("Runtime");
  add_machine(command, arguments->options.threads, " (GGUF: per idle processor)", arguments->device);
  add_unused_weights_option(command, arguments->allow_unused_weights);
  command->callback([arguments, command] {
    arguments->names_methods = command->count("--method") > 0;
    run_explain(*arguments);
  });
}

}  // namespace attnflow
