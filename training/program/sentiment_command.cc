// attnflow-train sentiment: a sentence classifier.

#include <fmt/format.h>

#include <memory>
#include <string>

#include "attnflow/analysis/evaluate/evaluate_samples.h"
#include "attnflow/base/error.h"
#include "attnflow/cli/common_options.h"
#include "training/program/commands.h"
#include "training/sentiment/train_classifier.h"

namespace attnflow {
namespace {

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
      throw Error(ErrorKind::kBadFile, fmt::format("{}: expected one labeled sentence per line, found {}", path,
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
      "attnflow-train sentiment --data {} --validation {} --test {} -o {} --seed {} --epochs {} --rate {} --dropout {}",
      arguments.train, arguments.validation, arguments.test, options.output.string(), options.seed, options.epochs,
      options.rate, options.dropout);
  if (!options.init_from_bert.empty()) options.command += " --init-from-bert " + options.init_from_bert.string();
  const LabelledTexts train = read_texts(arguments.train, options);
  const LabelledTexts validation = read_texts(arguments.validation, options);
  const LabelledTexts test = read_texts(arguments.test, options);
  run_interruptible(options.output, [&](const std::stop_token& token) {
    train_classifier(train, validation, test, options, print_progress(), token);
  });
}

}  // namespace

void add_sentiment_command(CLI::App& app) {
  auto sentiment = std::make_shared<SentimentArguments>();
  ClassifierTrainingOptions& options = sentiment->options;
  CLI::App* sub =
      app.add_subcommand("sentiment", "A small DistilBERT sentence classifier, trained on labeled sentences");
  sub->add_option("--data", sentiment->train, "Labeled training sentences")
      ->required()
      ->type_name("FILE.{tsv,csv,jsonl}");
  sub->add_option("--validation", sentiment->validation, "Labeled validation sentences, to select the best epoch")
      ->required()
      ->type_name("FILE");
  sub->add_option("--test", sentiment->test, "Labeled test sentences, for the accuracy in the model card")
      ->required()
      ->type_name("FILE");
  sub->add_option("-o,--output", options.output, "Output folder for the model")->required()->type_name("DIR");
  comma_list(sub->add_option("--labels", options.labels, "Comma-separated names of the labels 0, 1, ..."))
      ->capture_default_str();
  add_seed(sub, options.seed);
  add_threads(sub, options.threads);
  add_count(sub, "--epochs", options.epochs, "Training epochs");
  add_number(sub, "--rate", options.rate, "Peak learning rate");
  add_number(sub, "--dropout", options.dropout, "Dropout rate");
  sub->add_option(
         "--init-from-bert", options.init_from_bert,
         "Folder of a BERT (tools/fetch_bert_base): begin from every other of its layers, as DistilBERT did, with "
         "its vocabulary; then --epochs 3, --rate 3e-5, --dropout 0.1 and no masked words unless given")
      ->type_name("DIR");
  sub->callback([sentiment, sub] {
    ClassifierTrainingOptions& chosen = sentiment->options;
    if (!chosen.init_from_bert.empty()) {
      if (sub->count("--epochs") == 0) chosen.epochs = 3;
      if (sub->count("--rate") == 0) chosen.rate = 3e-5;
      if (sub->count("--dropout") == 0) chosen.dropout = 0.1;
      chosen.masked_words = 0.0;
    }
    run_sentiment(*sentiment);
  });
}

}  // namespace attnflow
