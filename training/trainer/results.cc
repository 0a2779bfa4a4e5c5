#include "training/trainer/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attnflow/base/version.h"
#include "attnflow/metrics/statistics.h"

namespace attnflow {

using Json = nlohmann::ordered_json;

std::size_t best_class(std::span<const float> logits) {
  return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

std::vector<bool> right_answers(Trainer& trainer, const std::vector<TrainingBatch>& batches) {
  const std::vector<Tensor<float>> logits = trainer.classify(batches);
  std::vector<bool> right;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    for (std::size_t r = 0; r < batches[b].rows; ++r) {
      right.push_back(best_class(logits[b][r].span()) == batches[b].labels[r]);
    }
  }
  return right;
}

std::string score_row(const std::string& what, const Score& score) {
  const Interval interval = wilson_interval(score.right, score.count);
  return fmt::format("| {} | {} | {:.3f} | {:.3f} to {:.3f} |\n", what, score.count, score.share(), interval.low,
                     interval.high);
}

Json score_json(const Score& score) {
  const Interval interval = wilson_interval(score.right, score.count);
  return {{"count", score.count},
          {"right", score.right},
          {"accuracy", score.share()},
          {"low", interval.low},
          {"high", interval.high}};
}

Json training_json(const std::string& command, const std::string& settings, const TrainingCheckpoint& checkpoint) {
  return {{"format", "attnflow-training"},     {"version", 1},
          {"library", ATTNFLOW_VERSION},       {"command", command},
          {"settings", Json::parse(settings)}, {"seconds", checkpoint.seconds}};
}

Json history_json(const TrainingCheckpoint& checkpoint) {
  return checkpoint.history.empty() ? Json::array() : Json::parse(checkpoint.history);
}

std::string license_line(const std::string& license) { return license.empty() ? "" : "license: " + license + "\n"; }

std::string how_trained(const std::string& task, const TrainingCheckpoint& checkpoint, const std::string& command) {
  return fmt::format(
      "Trained by `attnflow-train {}` on CPU in {:.0f} minutes. The same data, seed and command give the same weights "
      "on the same kind of processor with the same libtorch and BLAS; the number of threads does not "
      "matter.\n\n```\n{}\n```\n",
      task, minutes_of(checkpoint), command);
}

double minutes_of(const TrainingCheckpoint& checkpoint) {
  constexpr double kSecondsAMinute = 60.0;
  return checkpoint.seconds / kSecondsAMinute;
}

}  // namespace attnflow
