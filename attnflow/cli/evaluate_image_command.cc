// attnflow evaluate image: which method finds the patches that an image's class depends on?

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_image.h"
#include "attnflow/analysis/loaded_model.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/error.h"
#include "attnflow/cli/commands.h"
#include "attnflow/cli/common_options.h"
#include "attnflow/cli/evaluation_arguments.h"
#include "attnflow/cli/model_argument.h"
#include "attnflow/cli/progress_bar.h"
#include "attnflow/image/fashion_mnist.h"

namespace attnflow {
namespace {

struct ImageEvaluationArguments : EvaluationArguments {
  std::optional<std::string> model;
  std::string data;
  std::vector<std::string> scores;
  std::string blank = "mean";
  std::string scored = "predicted";
  std::size_t max_megapixels = 64;
  ImageEvaluationOptions options;
};

// A folder must hold Fashion-MNIST's files.
PictureSet read_pictures(const std::string& data, const ModelInfo& info, const PictureOptions& limits) {
  std::error_code error;
  if (!std::filesystem::is_directory(data, error)) return read_picture_list(data, info, limits);
  auto test = std::make_shared<LabelledPictures>(read_fashion_part(data, FashionPart::kTest));
  PictureSet set;
  set.source = "Fashion-MNIST's test set";
  for (std::size_t i = 0; i < test->count(); ++i) {
    if (test->labels[i] >= info.labels.size()) {
      throw Error(ErrorKind::kBadFile,
                  fmt::format("{}: expected classes below {} (the number of classes of {}), found {}", data,
                              info.labels.size(), info.name, test->labels[i]));
    }
    set.entries.push_back({fmt::format("test image {}", i), test->labels[i]});
  }
  set.read = [test](std::size_t i) { return grey_picture(test->picture(i)); };
  return set;
}

void run_image_evaluation(ImageEvaluationArguments& arguments) {
  ImageEvaluationOptions& options = arguments.options;
  arguments.read(options);
  constexpr std::array kBlanks = {PictureBlank::kMean, PictureBlank::kBlack, PictureBlank::kNeighbors};
  options.blank = kBlanks.at(index_of_choice("--blank", {"mean", "black", "neighbors"}, arguments.blank));
  for (const std::string& score : arguments.scores) index_of_choice("--scores", {"check"}, score);
  options.check = !arguments.scores.empty();
  options.own_class = index_of_choice("--class", {"predicted", "own"}, arguments.scored) == 1;
  const ImageModel model = load_image_model(open_image_model(arguments.model, {arguments.allow_unused_weights}),
                                            {.threads = options.threads});
  PictureOptions limits;
  limits.max_pixels = arguments.max_megapixels << 20U;
  const PictureSet pictures = read_pictures(arguments.data, model.model->info(), limits);
  ProgressBar bar("pictures");
  options.progress = bar.function();
  options.resampling.seed = options.seed;
  const ImageEvaluationReport report = evaluate_image(model, pictures, options);
  bar.finish();
  arguments.put(report);
}

}  // namespace

void add_image_evaluation_task(CLI::App& evaluate) {
  auto arguments = std::make_shared<ImageEvaluationArguments>();
  ImageEvaluationOptions& options = arguments->options;
  CLI::App* task = evaluate.add_subcommand(
      "image",
      "Vision model: how quickly does the class probability drop as patches are removed in each method's order?");
  task->add_option("--model", arguments->model, fmt::format("Folder of a {}, or a built-in model", kVisionFamilies))
      ->type_name("DIR|NAME");
  task->add_option("--data", arguments->data,
                   "List of images (file TAB class on each line), or a folder with the Fashion-MNIST files")
      ->required()
      ->type_name("FILE|DIR");
  arguments->add_outputs_to(task);
  add_whole_number(task, "--samples", options.samples, "Maximum number of samples (random subset); 0: all");
  add_whole_number(task, "--seed", options.seed, "Random seed (sampling, ties, random orders, bootstrap)");
  task->add_option("--max-megapixels", arguments->max_megapixels, "Reject images with more megapixels (2^20 pixels)")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20U))
      ->capture_default_str();
  add_unused_weights_option(task, arguments->allow_unused_weights);
  add_whole_number(task, "--threads", options.threads,
                   "Number of threads; 0: one per processor. Does not change the results");

  task->option_defaults()->group("Analysis");
  arguments->read_settings = add_settings(task, options.settings, kForImageCurves,
                                          {{"layers", "The last of these is used; default: the model's last layer"},
                                           {"mask_columns", "Same as for attnflow image"}});
  arguments->mixings = to_texts(options.mixings);
  add_mixings_option(task, arguments->mixings);
  comma_list(task->add_option("--scores", arguments->scores,
                              "Other scores to order patches by: check (each patch replaced by what could have been "
                              "there)"));
  task->add_option("--blank", arguments->blank,
                   "Fill for removed patches: mean, black, or neighbors (the color of the patches around them)")
      ->capture_default_str();
  task->add_option("--class", arguments->scored,
                   "Class to track: predicted, or own (the one that the image is labeled with)")
      ->capture_default_str();
  add_whole_number(task, "--steps", options.steps, "Steps per curve; 0: one per patch, at most 50");
  add_whole_number(task, "--random-orders", options.random_orders, "Random orders per image, for comparison");
  add_whole_number(task, "--resamples", options.resampling.resamples,
                   "Number of resamples for the bootstrap and sign-flip test");
  task->callback([arguments] { run_image_evaluation(*arguments); });
}

}  // namespace attnflow
