// A trained model's accuracy, and the parts that all model cards and training.json files share.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "attnflow/tensor/tensor.h"
#include "training/trainer/checkpoint_file.h"
#include "training/trainer/trainer.h"

namespace attnflow {

struct Score {
  std::size_t right = 0;
  std::size_t count = 0;

  double share() const { return count == 0 ? 0.0 : static_cast<double>(right) / static_cast<double>(count); }
  void add(bool is_right) {
    ++count;
    right += is_right ? 1 : 0;
  }
};

// Returns the first class with the largest logit.
std::size_t best_class(std::span<const float> logits);

// For batches of labeled sequences or images.
std::vector<bool> right_answers(Trainer& trainer, const std::vector<TrainingBatch>& batches);

// Formats a score as a row of a card's table, and for training.json; with its 95% interval (Wilson).
std::string score_row(const std::string& what, const Score& score);
nlohmann::ordered_json score_json(const Score& score);

nlohmann::ordered_json training_json(const std::string& command, const std::string& settings,
                                     const TrainingCheckpoint& checkpoint);
nlohmann::ordered_json history_json(const TrainingCheckpoint& checkpoint);

// The header line of a card that names the license; empty if none is named.
std::string license_line(const std::string& license);

// Describes the command that trained the model and how long that took; `task` is the command's first word.
std::string how_trained(const std::string& task, const TrainingCheckpoint& checkpoint, const std::string& command);
double minutes_of(const TrainingCheckpoint& checkpoint);

}  // namespace attnflow
