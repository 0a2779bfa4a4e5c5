// Evaluates a model on Fashion-MNIST's test images, and describes it: the card for people, training.json for programs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "training/fashion/fashion_data.h"
#include "training/fashion/train_fashion.h"
#include "training/trainer/checkpoint_file.h"
#include "training/trainer/results.h"

namespace attnflow {

struct FashionResults {
  // confusion[label][answer]: how often the model predicted `answer` for an image of `label`. [10][10]
  std::vector<std::vector<std::size_t>> confusion;

  Score all() const;
  Score of(std::size_t label) const;
};

FashionResults summarize_fashion(const std::vector<std::size_t>& labels, const std::vector<std::size_t>& answers);

// Loads the model in `folder` and classifies `pictures`, each through the folder's preprocessor_config.json. The answer
// is the first label with the largest logit. Throws as load_trained and read_image_processor do, and Cancelled.
FashionResults measure_fashion(const std::filesystem::path& folder, const LabelledPictures& pictures,
                               std::size_t threads, const std::stop_token& stop_token);

struct FashionSetup {
  FashionData data;
  PixelScale scale;  // for data.train
  std::size_t steps = 0;
  std::size_t parameters = 0;
  std::string settings;  // JSON: options and data, which identify a checkpoint
};

// A model card in Markdown, with the header that model collections read; accuracies have 95% intervals (Wilson).
std::string fashion_card(const FashionSetup& setup, const FashionTrainingOptions& options,
                         const TrainingCheckpoint& checkpoint, const FashionResults& results);

std::string fashion_training_json(const FashionSetup& setup, const FashionTrainingOptions& options,
                                  const TrainingCheckpoint& checkpoint, const FashionResults& results);

}  // namespace attnflow
