// attnflow evaluate evidence: which method finds the word that decides a prediction?

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_evidence.h"
#include "attnflow/analysis/loaded_model.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/error.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/evaluation_arguments.h"
#include "attnflow/cli/model_argument.h"
#include "attnflow/cli/progress_bar.h"

namespace attnflow {
namespace {

struct EvidenceArguments : EvaluationArguments {
  std::string model;
  std::string data;
  std::string flow_layers;
  EvidenceOptions options;
};

void run_evidence(EvidenceArguments& arguments) {
  EvidenceOptions& options = arguments.options;
  options.flow_layers = parse_layers(arguments.flow_layers);
  arguments.read(options);
  const std::vector<EvidenceSample> samples = read_evidence(arguments.data);
  const LoadedText model =
      load_text_model(open_model(arguments.model, {arguments.allow_unused_weights}), {.threads = options.threads});
  ProgressBar bar("samples");
  options.progress = bar.function();
  options.resampling.seed = options.seed;
  EvidenceReport report = evaluate_evidence(*model.model, model.codec(), samples, options);
  bar.finish();
  report.file = std::filesystem::path(arguments.data).filename().string();
  arguments.put(report);
}

}  // namespace

void add_evidence_task(CLI::App& evaluate) {
  auto arguments = std::make_shared<EvidenceArguments>();
  EvidenceOptions& options = arguments->options;
  arguments->mixings = {"auto"};
  CLI::App* task =
      evaluate.add_subcommand("evidence", "How high does each method rank the word that decides a prediction?");
  add_examples(task,
               {"attnflow evaluate evidence --model model.gguf --data capitals.csv",
                "attnflow evaluate evidence --model model.gguf --data capitals.csv --mixing relevance,alti",
                "where capitals.csv begins with the lines", "  text,evidence", "  The capital of Germany is,Germany"});
  task->add_option(
          "--model", arguments->model,
          "GGUF file, folder of a Hugging Face decoder, masked language model or text classifier, or a built-in model")
      ->required()
      ->type_name("FILE.gguf|DIR");
  task->add_option("--data", arguments->data,
                   "File with the columns text (with the model's mask token; for decoders, what comes before the word "
                   "to predict), evidence and, if known, good and bad: words, or classes of a classifier (or BLiMP's "
                   "column names plus target)")
      ->required()
      ->type_name("FILE.csv");
  arguments->add_outputs_to(task);
  add_whole_number(task, "--samples", options.samples, "Maximum number of samples (random subset); 0: all");
  add_whole_number(task, "--seed", options.seed, "Random seed for sampling and resampling");
  task->add_option("--begin", options.begin, "Text to prepend to every prefix, such as '<|im_start|>'");
  comma_list(task->add_option("--scores", options.scores,
                              "Other scores to rank by: blank-out, check (tokens replaced by what could have stood "
                              "there), gradient, gradient-x-input, attnlrp, logit, alti-logit, "
                              "integrated-gradients; comma-separated"))
      ->capture_default_str();
  add_unused_weights_option(task, arguments->allow_unused_weights);
  add_whole_number(task, "--threads", options.threads,
                   "Number of threads; 0: one per processor (GGUF: per idle processor). Does not change the results");

  task->option_defaults()->group("Analysis");
  arguments->read_settings = add_settings(
      task, options.settings, kForEvidence,
      {{"method", "Comma-separated list of raw, rollout and flow; --scores has the methods beside them"},
       {"against",
        "Compare the right word, or what the model predicts, with these, subtracting their mean logit: words separated "
        "by commas; next10 (the ten most probable others; any number works); rest (all others); none (explain the "
        "logit alone); auto (the wrong word; without one, next10)"}});
  add_mixings_option(task, arguments->mixings, "; auto: attention and, where the model supports it, relevance");
  task->add_option("--flow-layers", arguments->flow_layers,
                   "Layers to compute flow for; default: one at each quarter of the model's depth");
  add_whole_number(task, "--resamples", options.resampling.resamples, "Number of bootstrap resamples");
  task->callback([arguments] { run_evidence(*arguments); });
}

}  // namespace attnflow
