// What a model trained on Fashion-MNIST says about itself: the card for people, training.json for programs.
#ifndef ATTNFLOW_TRAINING_FASHION_FASHION_CARD_H_
#define ATTNFLOW_TRAINING_FASHION_FASHION_CARD_H_

#include <cstddef>
#include <string>

#include "training/fashion/fashion_data.h"
#include "training/fashion/fashion_results.h"
#include "training/fashion/train_fashion.h"
#include "training/trainer/checkpoint_file.h"

namespace attnflow {

struct FashionSetup {
  FashionData data;
  PixelScale scale;  // of data.train
  std::size_t steps = 0;
  std::size_t parameters = 0;
  std::string settings;  // JSON: options and data, by which a checkpoint is recognised
};

// A model card in Markdown, with the header that model collections read. Accuracies come with 95% intervals (Wilson).
std::string fashion_card(const FashionSetup& setup, const FashionTrainingOptions& options,
                         const TrainingCheckpoint& checkpoint, const FashionResults& results);

// Recipe, counts, history and results as JSON.
std::string fashion_training_json(const FashionSetup& setup, const FashionTrainingOptions& options,
                                  const TrainingCheckpoint& checkpoint, const FashionResults& results);

}  // namespace attnflow

#endif  // ATTNFLOW_TRAINING_FASHION_FASHION_CARD_H_
