#include "training/fashion/fashion_card.h"

#include <fmt/format.h>

#include <cassert>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "attnflow/files/atomic_file.h"
#include "attnflow/image/image_processor.h"
#include "training/trainer/new_model.h"

namespace attnflow {

namespace {

using Json = nlohmann::ordered_json;

std::string confusion_table(const FashionResults& results) {
  std::string table = fmt::format("| image of | {} |\n|", fmt::join(fashion_labels(), " | "));
  for (std::size_t column = 0; column <= fashion_labels().size(); ++column) table += " --- |";
  table += '\n';
  for (std::size_t label = 0; label < results.confusion.size(); ++label) {
    table += fmt::format("| {} | {} |\n", fashion_labels()[label], fmt::join(results.confusion[label], " | "));
  }
  return table;
}

std::string hardest_label(const FashionResults& results) {
  std::size_t hardest = 0;
  for (std::size_t label = 1; label < results.confusion.size(); ++label) {
    if (results.of(label).share() < results.of(hardest).share()) hardest = label;
  }
  return fashion_labels()[hardest];
}

constexpr const char* kLimits =
    "\n## Limits\n\nIt knows ten kinds of clothing, as single pieces, bright on black, centered and upright, in 28 x "
    "28 grayscale pixels. Given anything else, such as a photograph, it still answers with one of the ten, and its "
    "probabilities mean nothing. An image on a white background is a negative of what it has seen.\n";

}  // namespace

Score FashionResults::all() const {
  Score all;
  for (std::size_t label = 0; label < confusion.size(); ++label) {
    all.right += of(label).right;
    all.count += of(label).count;
  }
  return all;
}

Score FashionResults::of(std::size_t label) const {
  const std::vector<std::size_t>& answers = confusion[label];
  return {.right = answers[label], .count = std::accumulate(answers.begin(), answers.end(), std::size_t{0})};
}

FashionResults summarize_fashion(const std::vector<std::size_t>& labels, const std::vector<std::size_t>& answers) {
  assert(labels.size() == answers.size());
  const std::size_t classes = fashion_labels().size();
  FashionResults results;
  results.confusion.assign(classes, std::vector<std::size_t>(classes, 0));
  for (std::size_t i = 0; i < labels.size(); ++i) ++results.confusion[labels[i]][answers[i]];
  return results;
}

FashionResults measure_fashion(const std::filesystem::path& folder, const LabelledPictures& pictures,
                               std::size_t threads, const std::stop_token& stop_token) {
  const std::unique_ptr<VisionModel> model = load_trained_vision(folder, threads);
  const std::filesystem::path settings = folder / "preprocessor_config.json";
  const ImageProcessor processor = read_image_processor(
      read_file(settings), settings.string(), {model->info().image.value().channels, model->info().architecture});
  std::vector<PixelInput> inputs(pictures.count());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].pixels = pixel_values(grey_picture(pictures.picture(i)), processor);
  }
  BatchOptions batches;
  batches.stop_token = stop_token;
  std::vector<std::size_t> answers;
  for (const Tensor<float>& logits : model->classify(inputs, batches)) {
    answers.push_back(best_class(logits.span()));
  }
  return summarize_fashion(pictures.labels, answers);
}

std::string fashion_card(const FashionSetup& setup, const FashionTrainingOptions& options,
                         const TrainingCheckpoint& checkpoint, const FashionResults& results) {
  const VitShape& shape = options.shape;
  std::string card = fmt::format(
      "---\n{}datasets:\n- fashion_mnist\ntags:\n- attnflow\n- image-classification\n---\n\n# A vision transformer for "
      "Fashion-MNIST\n\nGiven a small grayscale image of a piece of clothing, it predicts which of ten kinds it "
      "is.\n\nIt is meant for studying attention, and small enough to ship with a program; do not use it to sort "
      "clothes.\n\n## Model\n\nA ViT ({} layers, {} heads, hidden size {}, feed-forward size {}; {} parameters) for "
      "images of {} x {} grayscale pixels in patches of {} x {}: a class token and {} patches. In `transformers`, the "
      "class is `ViTForImageClassification` and its processor is `ViTImageProcessor`, which takes arrays of shape [{}, "
      "{}, 1].\n\n",
      license_line(options.license), shape.layers, shape.heads, shape.hidden, shape.intermediate, setup.parameters,
      shape.picture, shape.picture, shape.patch, shape.patch, shape.tokens() - 1, shape.picture, shape.picture);
  card += fmt::format(
      "## Data\n\n[Fashion-MNIST](https://github.com/zalandoresearch/fashion-mnist) (Xiao, Rasul and Vollgraf, "
      "[arXiv:1708.07747](https://arxiv.org/abs/1708.07747)), copyright 2017 Zalando SE, under the MIT license; "
      "Debian's package `dataset-fashion-mnist`. Of its training images, {} were used for training and {}, chosen at "
      "random, were held out for validation; the {} test images are those of the dataset.\n\n## Recipe\n\nTrained from "
      "scratch: {} epochs of AdamW, batch size {}, peak learning rate {} (linear warmup over the first twentieth of {} "
      "steps, then linear decay to 0), dropout {}. With probability {}, an image is augmented each time it is seen: "
      "shifted by up to {} pixels in each direction, and mirrored with probability {}. Pixels are (p / 255 - {}) / {}, "
      "using the mean and standard deviation of the training images. The weights after the last step are kept.\n\n",
      setup.data.train.count(), setup.data.validation.count(), setup.data.test.count(), options.epochs,
      options.shard_pictures * options.shards_per_step, options.rate, setup.steps, options.dropout, options.augment,
      options.shift, options.mirror, setup.scale.mean, setup.scale.deviation);
  card += how_trained("fashion", checkpoint, options.command);
  card +=
      "\n## Accuracy on the test images\n\nMeasured with the weights as stored, in half precision.\n\n| images of | "
      "count | accuracy | 95% interval |\n| --- | --- | --- | --- |\n";
  card += score_row("all kinds", results.all());
  for (std::size_t label = 0; label < results.confusion.size(); ++label) {
    card += score_row(fashion_labels()[label], results.of(label));
  }
  card += "\nConfusion matrix:\n\n" + confusion_table(results);
  return card + kLimits + fmt::format("Of the ten kinds, {} is recognized least often.\n", hardest_label(results));
}

std::string fashion_training_json(const FashionSetup& setup, const FashionTrainingOptions& options,
                                  const TrainingCheckpoint& checkpoint, const FashionResults& results) {
  Json json = training_json(options.command, setup.settings, checkpoint);
  json["data"] = {{"train", setup.data.train.count()},
                  {"validation", setup.data.validation.count()},
                  {"test", setup.data.test.count()},
                  {"mean", setup.scale.mean},
                  {"deviation", setup.scale.deviation}};
  json["history"] = history_json(checkpoint);
  json["results"]["all"] = score_json(results.all());
  for (std::size_t label = 0; label < results.confusion.size(); ++label) {
    json["results"]["by_label"][fashion_labels()[label]] = score_json(results.of(label));
  }
  json["results"]["confusion"] = results.confusion;
  return json.dump(2) + "\n";
}

}  // namespace attnflow
