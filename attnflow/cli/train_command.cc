// attnflow train: models of the paper's experiments, made from text, and one of pictures.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "attnflow/analysis/evaluate_samples.h"
#include "attnflow/base/error.h"
#include "attnflow/base/progress.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/stop_on_signal.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/train/train_agreement.h"
#include "attnflow/train/train_classifier.h"
#include "attnflow/train/train_fashion.h"

namespace attnflow {
namespace {

std::string minutes(double seconds) {
  const long whole = std::lround(seconds);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

TrainingCallbacks callbacks() {
  TrainingCallbacks callbacks;
  callbacks.say = [](const std::string& message) {
    fmt::print(stderr, "{}\n", message);
    std::fflush(stderr);
  };
  callbacks.progress = [](const PhaseProgress& p) {
    const std::string line = fmt::format("{} {}/{}  cost {:.3f}  {:.0f} {}/s  {} left", p.phase, p.step, p.steps,
                                         p.cost, p.units_per_second, p.unit, minutes(p.seconds_left));
    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    if (terminal) fmt::print(stderr, "\r\x1b[K{}", line);
    if (p.measured) fmt::print(stderr, "{}{}  {}\n", terminal ? "\r\x1b[K" : "", line, *p.measured);
    if (terminal && p.step == p.steps && !p.measured) fmt::print(stderr, "\n");
    std::fflush(stderr);
  };
  return callbacks;
}

using Train = void(const AgreementTrainingOptions&, const TrainingCallbacks&, const std::stop_token&);

// Runs `work` until it is done or the user interrupts it.
void interruptible(const std::filesystem::path& output, const std::function<void(const std::stop_token&)>& work) {
  const StopOnSignal signals;
  try {
    work(signals.token());
  } catch (const Cancelled&) {
    throw Error(ErrorKind::kOther, fmt::format("interrupted; the same command goes on from the checkpoint in {}",
                                               (output / "training").string()));
  }
  fmt::print(stderr, "wrote {}\n", output.string());
}

struct ProseArguments {
  AgreementTrainingOptions options;
  std::string attribution;  // file
};

// The command that makes the same model again, all choices written out.
std::string command_of(const std::string& task, const ProseArguments& arguments) {
  const AgreementTrainingOptions& options = arguments.options;
  std::string command = "attnflow train " + task + " --prose";
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
  interruptible(options.output, [&](const std::stop_token& token) { train(options, callbacks(), token); });
}

struct SentimentArguments {
  ClassifierTrainingOptions options;
  std::string train;
  std::string validation;
  std::string test;
};

LabelledTexts read_texts(const std::string& path, const ClassifierTrainingOptions& options) {
  ModelInfo info;
  info.name = "the model to be trained";
  info.labels = options.labels;
  LabelledTexts texts;
  for (const EvaluationSample& sample : read_samples(path, info).samples) {
    if (!sample.label || sample.pair) {
      throw Error(ErrorKind::kBadFile, fmt::format("{}: expected one sentence and its label a line, found {}", path,
                                                   sample.pair ? "two sentences" : "no label"));
    }
    texts.texts.push_back(sample.text);
    texts.labels.push_back(*sample.label);
  }
  return texts;
}

void run_sentiment(SentimentArguments arguments) {
  ClassifierTrainingOptions& options = arguments.options;
  options.command = fmt::format(
      "attnflow train sentiment --data {} --validation {} --test {} -o {} --seed {} --epochs {} --rate {} --dropout {}",
      arguments.train, arguments.validation, arguments.test, options.output.string(), options.seed, options.epochs,
      options.rate, options.dropout);
  const LabelledTexts train = read_texts(arguments.train, options);
  const LabelledTexts validation = read_texts(arguments.validation, options);
  const LabelledTexts test = read_texts(arguments.test, options);
  interruptible(options.output, [&](const std::stop_token& token) {
    train_classifier(train, validation, test, options, callbacks(), token);
  });
}

void run_fashion(FashionTrainingOptions options) {
  const VitShape& shape = options.shape;
  options.command = fmt::format(
      "attnflow train fashion --data {} -o {} --seed {} --epochs {} --rate {} --dropout {} --augment {} --shift {} "
      "--mirror {} "
      "--layers {} --heads {} --hidden {} --intermediate {} --patch {}",
      options.data.string(), options.output.string(), options.seed, options.epochs, options.rate, options.dropout,
      options.augment, options.shift, options.mirror, shape.layers, shape.heads, shape.hidden, shape.intermediate,
      shape.patch);
  if (!options.license.empty()) options.command += " --license " + options.license;
  interruptible(options.output, [&](const std::stop_token& token) { train_fashion(options, callbacks(), token); });
}

void add_fashion(CLI::App* command) {
  auto fashion = std::make_shared<FashionTrainingOptions>();
  FashionTrainingOptions& options = *fashion;
  CLI::App* sub = command->add_subcommand("fashion", "A small ViT that tells kinds of clothing apart (Fashion-MNIST)");
  sub->add_option("--data", options.data,
                  "Folder of the data set's four files (*-ubyte.gz); the default is where Debian's package "
                  "dataset-fashion-mnist puts them")
      ->type_name("DIR")
      ->capture_default_str();
  sub->add_option("-o,--output", options.output, "Folder that the model is written to")->required()->type_name("DIR");
  sub->add_option("--seed", options.seed, "Seed of everything random")->check(whole_number)->capture_default_str();
  sub->add_option("--threads", options.threads, "Threads; 0: one per processor. The result does not depend on it")
      ->check(whole_number)
      ->capture_default_str();
  sub->add_option("--license", options.license, "Licence of the weights, for the model card, such as apache-2.0");
  const auto add_count = [&](const char* name, std::size_t& value, const char* what) {
    sub->add_option(name, value, what)->check(whole_number)->capture_default_str()->group("Recipe");
  };
  const auto add_number = [&](const char* name, double& value, const char* what) {
    sub->add_option(name, value, what)->capture_default_str()->group("Recipe");
  };
  add_count("--epochs", options.epochs, "Times that each picture is seen");
  add_number("--rate", options.rate, "Learning rate at its peak");
  add_number("--dropout", options.dropout, "Dropout");
  add_number("--augment", options.augment, "Share of the training pictures that are moved and mirrored");
  add_count("--shift", options.shift, "Pixels that they are moved by, at most");
  add_number("--mirror", options.mirror, "Share of them that are mirrored");
  add_count("--layers", options.shape.layers, "Layers");
  add_count("--heads", options.shape.heads, "Heads");
  add_count("--hidden", options.shape.hidden, "Hidden size");
  add_count("--intermediate", options.shape.intermediate, "Width inside the feed-forward nets");
  add_count("--patch", options.shape.patch, "Pixels of a patch's edge, a divisor of 28");
  sub->callback([fashion] { run_fashion(*fashion); });
}

void add_common(CLI::App* command, ProseArguments& arguments) {
  AgreementTrainingOptions& options = arguments.options;
  command->add_option("--prose", options.prose, "Text files, or folders of .txt files; one paragraph a line")
      ->required()
      ->type_name("PATH...");
  command->add_option("-o,--output", options.output, "Folder that the model is written to")
      ->required()
      ->type_name("DIR");
  command->add_option("--seed", options.seed, "Seed of everything random")->check(whole_number)->capture_default_str();
  command->add_option("--threads", options.threads, "Threads; 0: one per processor. The result does not depend on it")
      ->check(whole_number)
      ->capture_default_str();
  comma_list(command->add_option("--test-sources", options.data.test_sources,
                                 "Documents (file names without ending) kept apart for test; default: drawn, about a "
                                 "tenth"));
  comma_list(command->add_option("--validation-sources", options.data.validation_sources,
                                 "Documents kept apart for validation; default: drawn, about a twentieth"));
  command->add_option("--license", options.license, "Licence of the weights, for the model card, such as apache-2.0");
  command
      ->add_option("--attribution", arguments.attribution,
                   "Markdown that names the texts, their authors and licences; becomes part of the model card")
      ->type_name("FILE");
  const char* recipe = "Recipe";
  command->add_option("--masked-steps", options.masked_steps, "Updates as a masked language model")
      ->check(whole_number)
      ->capture_default_str()
      ->group(recipe);
  command->add_option("--masked-rate", options.masked_rate, "Their learning rate at its peak")
      ->capture_default_str()
      ->group(recipe);
  command->add_option("--vocabulary", options.shape.vocabulary, "Pieces in the vocabulary, at most")
      ->check(whole_number)
      ->capture_default_str()
      ->group(recipe);
  command->add_option("--layers", options.shape.layers, "Layers")
      ->check(whole_number)
      ->capture_default_str()
      ->group(recipe);
  command->add_option("--heads", options.shape.heads, "Heads")
      ->check(whole_number)
      ->capture_default_str()
      ->group(recipe);
  command->add_option("--hidden", options.shape.hidden, "Hidden size")
      ->check(whole_number)
      ->capture_default_str()
      ->group(recipe);
}

}  // namespace

void add_train_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("train", "Train the models of the paper's experiments, and one of pictures");
  command->require_subcommand(1);

  auto agreement = std::make_shared<ProseArguments>();
  AgreementTrainingOptions& recipe = agreement->options;
  CLI::App* sub = command->add_subcommand("agreement", "The verb-number model: is the next verb singular or plural?");
  add_common(sub, *agreement);
  sub->add_option("--steps", recipe.steps, "Updates as a classifier")
      ->check(whole_number)
      ->capture_default_str()
      ->group("Recipe");
  sub->add_option("--rate", recipe.rate, "Their learning rate at its peak")->capture_default_str()->group("Recipe");
  sub->add_option("--dropout", recipe.dropout, "Their dropout")->capture_default_str()->group("Recipe");
  sub->add_option("--grammar-share", recipe.grammar_share, "Sentences of a small grammar for each prefix of prose")
      ->capture_default_str()
      ->group("Recipe");
  sub->add_option("--masked-model", recipe.masked_output,
                  "Folder that the masked language model of the first phase is written to as well")
      ->type_name("DIR");
  sub->callback([agreement] { run("agreement", *agreement, train_agreement); });

  auto masked = std::make_shared<ProseArguments>();
  sub = command->add_subcommand("masked", "A small masked language model");
  add_common(sub, *masked);
  sub->callback([masked] { run("masked", *masked, train_masked); });

  auto sentiment = std::make_shared<SentimentArguments>();
  ClassifierTrainingOptions& options = sentiment->options;
  sub = command->add_subcommand("sentiment", "A small DistilBERT that classifies sentences, from labelled ones");
  sub->add_option("--data", sentiment->train, "Sentences to train on, with labels")
      ->required()
      ->type_name("FILE.{tsv,csv,jsonl}");
  sub->add_option("--validation", sentiment->validation, "Sentences that choose the epoch that is kept")
      ->required()
      ->type_name("FILE");
  sub->add_option("--test", sentiment->test, "Sentences for the accuracy in the card")->required()->type_name("FILE");
  sub->add_option("-o,--output", options.output, "Folder that the model is written to")->required()->type_name("DIR");
  comma_list(sub->add_option("--labels", options.labels, "Names of the labels 0, 1, ..., joined by commas"))
      ->capture_default_str();
  sub->add_option("--seed", options.seed, "Seed of everything random")->check(whole_number)->capture_default_str();
  sub->add_option("--threads", options.threads, "Threads; 0: one per processor. The result does not depend on it")
      ->check(whole_number)
      ->capture_default_str();
  sub->add_option("--epochs", options.epochs, "Times that each sentence is seen")
      ->check(whole_number)
      ->capture_default_str()
      ->group("Recipe");
  sub->add_option("--rate", options.rate, "Learning rate at its peak")->capture_default_str()->group("Recipe");
  sub->add_option("--dropout", options.dropout, "Dropout")->capture_default_str()->group("Recipe");
  sub->callback([sentiment] { run_sentiment(*sentiment); });

  add_fashion(command);
}

}  // namespace attnflow
