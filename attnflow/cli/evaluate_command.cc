// attnflow evaluate: how well raw attention, rollout and flow agree with what a model depends on.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_agreement.h"
#include "attnflow/analysis/evaluate/evaluate_correlations.h"
#include "attnflow/analysis/evaluate/evaluate_output.h"
#include "attnflow/analysis/evaluate/evaluate_samples.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/error.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/evaluation_arguments.h"
#include "attnflow/cli/model_argument.h"
#include "attnflow/cli/progress_bar.h"
#include "attnflow/model/model_files.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow {
namespace {

struct EvaluateArguments : EvaluationArguments {
  std::optional<std::string> model;
  std::vector<std::string> data;
  std::string device = "cpu";
  CorrelationOptions options;
};

// The positive class, or the second of two unnamed ones.
std::string positive_class(const ModelInfo& info) {
  if (label_named("positive", info.labels)) return "positive";
  // transformers' names for unnamed classes.
  if (info.labels.size() == 2 && info.labels[1].starts_with("LABEL_")) return info.labels[1];
  throw Error(
      ErrorKind::kUsage,
      fmt::format(
          "--targets: expected a class named positive, found {}; name one, such as --targets logit:{},logit:predicted",
          fmt::join(info.labels, ", "), info.labels.empty() ? "CLASS" : info.labels.back()));
}

struct Samples {
  std::vector<EvaluationSample> samples;
  SampleCounts data;
  std::vector<Note> notes;
};

Samples read_file_samples(const EvaluateArguments& arguments, const ModelInfo& info) {
  const std::filesystem::path path = arguments.data.front();
  SampleFile file = read_samples(path, info);
  Samples result;
  result.samples = std::move(file.samples);
  result.data.source = path.filename().string();
  result.data.empty_lines = file.empty_lines;
  return result;
}

Samples read_agreement(const EvaluateArguments& arguments, const Folder& folder, const ModelInfo& info) {
  std::optional<std::filesystem::path> data;
  if (!arguments.data.empty()) data = arguments.data.front();
  AgreementSamples found = read_agreement_samples(folder, info, data);
  return {std::move(found.samples), std::move(found.data), std::move(found.notes)};
}

void run_evaluate(const std::string& task, EvaluateArguments& arguments) {
  CorrelationOptions& options = arguments.options;
  arguments.read(options);
  refuse_if(options.keep_samples && arguments.outputs.empty() && !arguments.json,
            "--per-sample requires -o FILE.json or --json");
  validate_options(options);

  // Finds invalid data before the weights are mapped.
  const ModelFiles files = open_text_model(arguments.model, {arguments.allow_unused_weights});
  const ModelInfo& info = files.info();
  check_classifier(info);
  if (task == "sentiment" && options.targets.empty()) {
    options.targets = {"logit:" + positive_class(info), "logit:predicted"};
  }
  Samples samples =
      task == "agreement" ? read_agreement(arguments, *files.folder(), info) : read_file_samples(arguments, info);
  const Tokenizer tokenizer = Tokenizer::load(*files.folder(), info.architecture);
  const std::unique_ptr<Encoder> model = files.load_encoder({arguments.device, options.threads});

  Phases phases;
  options.progress = [&](std::string_view phase) { return phases.start(phase); };
  CorrelationReport report =
      evaluate_correlations(*model, tokenizer, samples.samples, std::move(samples.data), options);
  phases.finish();
  report.task = task;
  report.notes.insert(report.notes.begin(), samples.notes.begin(), samples.notes.end());

  arguments.put(report);
  phases.print();
}

void add_common(CLI::App* command, EvaluateArguments& arguments) {
  CorrelationOptions& options = arguments.options;
  Settings& settings = options.settings;
  command
      ->add_option("--model", arguments.model,
                   "Folder of a Hugging Face classifier, or a built-in model ('attnflow model' lists them). Default: "
                   "the first built-in text model")
      ->type_name("DIR|NAME");
  arguments.add_outputs_to(command);
  command->add_flag("--per-sample", options.keep_samples,
                    "Include every sample in the JSON: its tokens, scores, relevance and correlations");

  command->option_defaults()->group("Samples");
  add_whole_number(command, "--samples", options.samples, "Maximum number of samples (random subset); 0: all");
  add_whole_number(command, "--seed", options.seed, "Random seed for sampling and resampling");
  command->add_flag("--truncate", options.truncate,
                    "Truncate samples that are too long for the model instead of skipping them");

  command->option_defaults()->group("Importance scores");
  comma_list(
      command->add_option("--scores", options.scores,
                          "Comma-separated list of blank-out, gradient (L2 norm), gradient-x-input, gradient-sum"))
      ->capture_default_str();
  comma_list(command->add_option("--targets", options.targets,
                                 "Outputs to score: logit, probability or difference (to the runner-up class), each "
                                 "with :correct (the default), :predicted or :CLASS; comma-separated"));
  command
      ->add_option("--blank", options.blank, "Replacement token for blank-out: auto (unk, else mask), unk, mask or pad")
      ->capture_default_str();

  command->option_defaults()->group("Analysis");
  arguments.read_settings = add_settings(command, settings, kForCorrelations,
                                         {{"method",
                                           "Comma-separated list of raw, rollout, flow, attnlrp, "
                                           "gradient-x-input and integrated-gradients (the last three by their "
                                           "absolute values)"},
                                          {"output_token", "auto, cls, mask, last or a position"}});
  add_mixings_option(command, arguments.mixings);
  comma_list(command->add_option(
                 "--relevance", options.relevance,
                 "Comma-separated list of row (of the output token), column-max, column-sum (over output tokens)"))
      ->capture_default_str();
  add_whole_number(command, "--resamples", options.resamples,
                   "Number of resamples for the bootstrap and sign-flip tests");

  command->option_defaults()->group("Runtime");
  add_machine(command, options.threads, ". Does not change the results", arguments.device);
  add_unused_weights_option(command, arguments.allow_unused_weights);
  command->option_defaults()->group("Options");  // the group for options that a task adds
}

}  // namespace

void add_evaluate_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "evaluate", "Measure how well raw attention, rollout and flow agree with what a model depends on");
  command->require_subcommand(1);
  command->footer(
      "Which task?\n  agreement  a model that predicts verb number; the built-in model does, so nothing else is "
      "needed\n  sentiment  a sentiment classifier, with labeled sentences\n  sentences  any other classifier, with "
      "your own file\n  evidence   a language model or classifier, with texts whose deciding word is known\n  image    "
      "  "
      "a vision model, with images: which patches does the class depend on?\nSee 'attnflow evaluate TASK --help' for a "
      "task's options, and docs/evaluate.md for a worked example.");

  auto agreement = std::make_shared<EvaluateArguments>();
  agreement->options.samples = 2000;
  CLI::App* task =
      command->add_subcommand("agreement", "A verb-number model, such as the built-in one: the paper's Tables 1 and 2");
  add_common(task, *agreement);
  task->add_option("--data", agreement->data,
                   "Prefixes with verb number: .tsv (prefix TAB singular|plural), .csv or .jsonl; a 'group' column "
                   "splits the results. Default: the prefixes shipped with the model")
      ->type_name("FILE")
      ->expected(1);
  task->callback([agreement] { run_evaluate("agreement", *agreement); });

  auto sentiment = std::make_shared<EvaluateArguments>();
  sentiment->options.samples = 100;
  sentiment->options.scores = {"gradient"};
  sentiment->options.relevance = {"column-max", "row"};
  task = command->add_subcommand("sentiment", "A sentiment classifier: the paper's Table 3");
  add_common(task, *sentiment);
  task->add_option("--data", sentiment->data, "Labeled sentences: .tsv (text TAB label), .csv or .jsonl")
      ->type_name("FILE")
      ->required()
      ->expected(1);
  task->callback([sentiment] { run_evaluate("sentiment", *sentiment); });

  auto sentences = std::make_shared<EvaluateArguments>();
  task = command->add_subcommand("sentences", "Any classifier and a file of sentences");
  add_common(task, *sentences);
  task->add_option("FILE", sentences->data,
                   "Sentences: .tsv (text TAB label), .csv or .jsonl; or .txt, one per line, without labels")
      ->required()
      ->expected(1);
  task->callback([sentences] { run_evaluate("sentences", *sentences); });

  add_evidence_task(*command);
  add_image_evaluation_task(*command);
}

}  // namespace attnflow
