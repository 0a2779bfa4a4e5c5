// attnflow-train fashion: an image classifier.

#include <fmt/format.h>

#include <memory>

#include "training/fashion/train_fashion.h"
#include "training/program/commands.h"

namespace attnflow {
namespace {

void run_fashion(FashionTrainingOptions options) {
  const VitShape& shape = options.shape;
  options.command = fmt::format(
      "attnflow-train fashion --data {} -o {} --seed {} --epochs {} --rate {} --dropout {} --augment {} --shift {} "
      "--mirror {} "
      "--layers {} --heads {} --hidden {} --intermediate {} --patch {}",
      options.data.string(), options.output.string(), options.seed, options.epochs, options.rate, options.dropout,
      options.augment, options.shift, options.mirror, shape.layers, shape.heads, shape.hidden, shape.intermediate,
      shape.patch);
  if (!options.license.empty()) options.command += " --license " + options.license;
  run_interruptible(options.output,
                    [&](const std::stop_token& token) { train_fashion(options, print_progress(), token); });
}

}  // namespace

void add_fashion_command(CLI::App& app) {
  auto fashion = std::make_shared<FashionTrainingOptions>();
  FashionTrainingOptions& options = *fashion;
  CLI::App* sub = app.add_subcommand("fashion", "A small ViT classifier for clothing (Fashion-MNIST)");
  sub->add_option("--data", options.data,
                  "Folder with the data set's four files (*-ubyte.gz); default: where Debian's package "
                  "dataset-fashion-mnist installs them")
      ->type_name("DIR")
      ->capture_default_str();
  sub->add_option("-o,--output", options.output, "Output folder for the model")->required()->type_name("DIR");
  add_seed(sub, options.seed);
  add_threads(sub, options.threads);
  sub->add_option("--license", options.license, "License of the weights, for the model card, such as apache-2.0");
  add_count(sub, "--epochs", options.epochs, "Training epochs");
  add_number(sub, "--rate", options.rate, "Peak learning rate");
  add_number(sub, "--dropout", options.dropout, "Dropout rate");
  add_number(sub, "--augment", options.augment, "Fraction of images to augment");
  add_count(sub, "--shift", options.shift, "Maximum shift in pixels");
  add_number(sub, "--mirror", options.mirror, "Fraction of augmented images to mirror");
  add_count(sub, "--layers", options.shape.layers, "Number of layers");
  add_count(sub, "--heads", options.shape.heads, "Number of attention heads");
  add_count(sub, "--hidden", options.shape.hidden, "Hidden size");
  add_count(sub, "--intermediate", options.shape.intermediate, "Feed-forward size");
  add_count(sub, "--patch", options.shape.patch, "Patch size in pixels, a divisor of 28");
  sub->callback([fashion] { run_fashion(*fashion); });
}

}  // namespace attnflow
