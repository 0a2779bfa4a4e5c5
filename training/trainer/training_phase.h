// The loop that training is: batch after batch, a falling learning rate, checkpoints, interruption.
//
// Schedule. The rate rises linearly over the first `warmup` share of the steps to its peak, then falls linearly to 0 at
// the last step.
//
// Interruption. A checkpoint is saved every `checkpoint_seconds`, and when the stop token is set; the next run with the
// same settings goes on from it and ends with the same weights, to the bit, as a run that was never interrupted: order,
// masks and dropout of a step follow from the seed and the step's number alone.
#ifndef ATTNFLOW_TRAINING_TRAINER_TRAINING_PHASE_H_
#define ATTNFLOW_TRAINING_TRAINER_TRAINING_PHASE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "training/trainer/batch_plan.h"
#include "training/trainer/checkpoint_file.h"
#include "training/trainer/trainer.h"

namespace attnflow {

struct PhaseOptions {
  std::string name;       // in messages and checkpoints
  std::size_t steps = 0;  // updates in all
  double rate = 1e-3;     // at its peak
  double warmup = 0.05;   // share of the steps
  BatchPlanOptions batches;
  std::size_t measure_every = 200;  // steps between measurements on held-out data, 0: none
  double checkpoint_seconds = 60.0;
};

struct PhaseProgress {
  std::string phase;
  std::size_t step = 0;  // done
  std::size_t steps = 0;
  double cost = 0.0;            // mean since the last report
  std::string unit = "tokens";  // or "pictures"
  double units_per_second = 0.0;
  double seconds_left = 0.0;            // of this phase, at the speed so far
  std::optional<std::string> measured;  // what `measure` said, when it has just been asked
};

// What a run says as it goes: messages in words, and progress of the phases.
struct TrainingCallbacks {
  std::function<void(const std::string&)> say;
  std::function<void(const PhaseProgress&)> progress;
};

// The batch of a shard. `step` counts from 0, and `place`, of the shard in it, does too: they seed what is random.
using MakeBatch = std::function<TrainingBatch(const Shard& shard, std::size_t step, std::size_t place)>;
// A measurement on held-out data, in words and as JSON for the history.
struct Measurement {
  std::string words;
  std::string json;
};
using Measure = std::function<Measurement(Trainer& trainer, std::size_t step)>;

// Runs one phase from `checkpoint`, or from its beginning when the checkpoint is of no phase or an earlier one, and
// leaves it at `checkpoint_path`, updated, its phase and steps those of the end. `report` is called every second or so.
// Throws Cancelled after the checkpoint was saved, when the token was set.
void run_phase(Trainer& trainer, std::span<const std::size_t> lengths, const MakeBatch& make_batch,
               const Measure& measure, const PhaseOptions& options, const std::filesystem::path& checkpoint_path,
               TrainingCheckpoint& checkpoint, const std::function<void(const PhaseProgress&)>& report,
               const std::stop_token& stop_token);

// The learning rate of a step, counted from 0.
double learning_rate(const PhaseOptions& options, std::size_t step);

}  // namespace attnflow

#endif  // ATTNFLOW_TRAINING_TRAINER_TRAINING_PHASE_H_
