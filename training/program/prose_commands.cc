// attnflow-train agreement, masked and prefixes: the commands that use prose.

#include <fmt/format.h>

#include <memory>
#include <string>

#include "attnflow/cli/common_options.h"
#include "attnflow/files/atomic_file.h"
#include "training/agreement/prefixes.h"
#include "training/agreement/train_agreement.h"
#include "training/program/commands.h"

namespace attnflow {
namespace {

using Train = void(const AgreementTrainingOptions&, const TrainingCallbacks&, const std::stop_token&);

struct ProseArguments {
  AgreementTrainingOptions options;
  std::string attribution;  // file
};

// Returns the command that makes the same model again, with all choices spelled out.
std::string command_of(const std::string& task, const ProseArguments& arguments) {
  const AgreementTrainingOptions& options = arguments.options;
  std::string command = "attnflow-train " + task + " --prose";
  for (const auto& path : options.prose) command += " " + path.string();
  command += fmt::format(" -o {} --seed {} --masked-steps {} --masked-rate {}", options.output.string(), options.seed,
                         options.masked_steps, options.masked_rate);
  if (task == "agreement") {
    command += fmt::format(" --steps {} --rate {} --dropout {} --grammar-share {}", options.steps, options.rate,
                           options.dropout, options.grammar_share);
    if (!options.masked_output.empty()) command += fmt::format(" --masked-model {}", options.masked_output.string());
  }
  const EncoderShape usual;
  const auto add_if_other = [&](const char* option, std::size_t value, std::size_t usual_value) {
    if (value != usual_value) command += fmt::format(" {} {}", option, value);
  };
  add_if_other("--vocabulary", options.shape.vocabulary, usual.vocabulary);
  add_if_other("--layers", options.shape.layers, usual.layers);
  add_if_other("--heads", options.shape.heads, usual.heads);
  add_if_other("--hidden", options.shape.hidden, usual.hidden);
  if (!options.data.test_sources.empty()) {
    command += fmt::format(" --test-sources {}", fmt::join(options.data.test_sources, ","));
  }
  if (!options.data.validation_sources.empty()) {
    command += fmt::format(" --validation-sources {}", fmt::join(options.data.validation_sources, ","));
  }
  if (!options.license.empty()) command += " --license " + options.license;
  if (!arguments.attribution.empty()) command += " --attribution " + arguments.attribution;
  return command;
}

void run(const std::string& task, const ProseArguments& arguments, Train* train) {
  AgreementTrainingOptions options = arguments.options;
  options.command = command_of(task, arguments);
  if (!arguments.attribution.empty()) options.attribution = read_file(arguments.attribution);
  run_interruptible(options.output, [&](const std::stop_token& token) { train(options, print_progress(), token); });
}

void add_prose(CLI::App* command, std::vector<std::filesystem::path>& prose) {
  command->add_option("--prose", prose, "Text files, or folders of .txt files; one paragraph per line")
      ->required()
      ->type_name("PATH...");
}

void add_test_sources(CLI::App* command, std::vector<std::string>& sources, const std::string& otherwise) {
  comma_list(command->add_option("--test-sources", sources,
                                 "Held-out test documents (file names without extension); default: " + otherwise));
}

void add_common(CLI::App* command, ProseArguments& arguments) {
  AgreementTrainingOptions& options = arguments.options;
  add_prose(command, options.prose);
  command->add_option("-o,--output", options.output, "Output folder for the model")->required()->type_name("DIR");
  add_seed(command, options.seed);
  add_threads(command, options.threads);
  add_test_sources(command, options.data.test_sources, "a random tenth");
  comma_list(command->add_option("--validation-sources", options.data.validation_sources,
                                 "Held-out validation documents; default: a random twentieth"));
  command->add_option("--license", options.license, "License of the weights, for the model card, such as apache-2.0");
  command
      ->add_option("--attribution", arguments.attribution,
                   "Markdown file with the texts, their authors and licenses; becomes part of the model card")
      ->type_name("FILE");
  add_count(command, "--masked-steps", options.masked_steps, "Masked-LM training steps");
  add_number(command, "--masked-rate", options.masked_rate, "Peak learning rate of masked-LM training");
  add_count(command, "--vocabulary", options.shape.vocabulary, "Maximum vocabulary size");
  add_count(command, "--layers", options.shape.layers, "Number of layers");
  add_count(command, "--heads", options.shape.heads, "Number of attention heads");
  add_count(command, "--hidden", options.shape.hidden, "Hidden size");
}

void add_prefixes(CLI::App& app) {
  auto prefixes = std::make_shared<PrefixOptions>();
  PrefixOptions& options = *prefixes;
  CLI::App* sub = app.add_subcommand(
      "prefixes", "Held-out prefixes of prose with verb number, for 'attnflow evaluate agreement --data'");
  add_prose(sub, options.prose);
  add_output(sub->add_option("-o,--output", options.output, "Output file")->required()->type_name("FILE.tsv"));
  sub->add_option("--model", options.model,
                  "Folder of a model whose training.json lists the documents held out from its training")
      ->type_name("DIR");
  add_test_sources(sub, options.test_sources, "those in the model's training.json, else a random tenth");
  sub->add_option("--samples", options.samples, "Maximum number of samples (random subset); 0: all")
      ->check(whole_number)
      ->capture_default_str();
  add_seed(sub, options.seed);
  sub->callback([prefixes] { write_prefixes(*prefixes, print_progress().say); });
}

}  // namespace

void add_prose_commands(CLI::App& app) {
  auto agreement = std::make_shared<ProseArguments>();
  AgreementTrainingOptions& recipe = agreement->options;
  CLI::App* sub = app.add_subcommand("agreement", "Verb-number model: is the next verb singular or plural?");
  add_common(sub, *agreement);
  add_count(sub, "--steps", recipe.steps, "Classifier training steps");
  add_number(sub, "--rate", recipe.rate, "Peak learning rate of classifier training");
  add_number(sub, "--dropout", recipe.dropout, "Classifier dropout rate");
  add_number(sub, "--grammar-share", recipe.grammar_share, "Sentences from a small grammar per prefix of prose");
  sub->add_option("--masked-model", recipe.masked_output,
                  "Also write the masked language model of the first phase to this folder")
      ->type_name("DIR");
  sub->callback([agreement] { run("agreement", *agreement, train_agreement); });

  auto masked = std::make_shared<ProseArguments>();
  sub = app.add_subcommand("masked", "A small masked language model");
  add_common(sub, *masked);
  sub->callback([masked] { run("masked", *masked, train_masked); });

  add_prefixes(app);
}

}  // namespace attnflow
