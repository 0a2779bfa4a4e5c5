// The training loop: batches, a falling learning rate, checkpoints, interruption.
//
// Schedule. The rate rises linearly over the first `warmup` share of the steps, then falls linearly to 0 at the last.
//
// Interruption. A checkpoint is saved every `checkpoint_seconds`, and when the stop token is set; the next run with the
// same settings resumes from it and ends with bitwise the same weights: the order, masks and dropout of a step depend
// only on the seed and the step's number.
#pragma once

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
  std::size_t steps = 0;  // total updates
  double rate = 1e-3;     // peak rate
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
  double seconds_left = 0.0;            // for this phase, at the speed so far
  std::optional<std::string> measured;  // the result of `measure`, if just measured
};

// Reports of a run: messages, and progress of the phases.
struct TrainingCallbacks {
  std::function<void(const std::string&)> say;
  std::function<void(const PhaseProgress&)> progress;
};

// Makes the batch of a shard. `step`, and `place`, the shard's index in it, count from 0: they seed random choices.
using MakeBatch = std::function<TrainingBatch(const Shard& shard, std::size_t step, std::size_t place)>;
struct Measurement {
  std::string words;
  std::string json;
};
using Measure = std::function<Measurement(Trainer& trainer, std::size_t step)>;

// Runs one phase from `checkpoint`, or from the start if the checkpoint has no phase or an earlier one, and leaves the
// updated checkpoint, with the final phase and steps, at `checkpoint_path`. Calls `report` about once a second. Throws
// Cancelled after saving the checkpoint when the token was set.
void run_phase(Trainer& trainer, std::span<const std::size_t> lengths, const MakeBatch& make_batch,
               const Measure& measure, const PhaseOptions& options, const std::filesystem::path& checkpoint_path,
               TrainingCheckpoint& checkpoint, const std::function<void(const PhaseProgress&)>& report,
               const std::stop_token& stop_token);

// Steps count from 0.
double learning_rate(const PhaseOptions& options, std::size_t step);

}  // namespace attnflow
